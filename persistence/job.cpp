// persistence/job.cpp -- the one spelling of states, outcomes and verdicts.
#include "persistence/job.hpp"

#include <array>

namespace reeve {

namespace {

template <class Enum, size_t N>
std::optional<Enum> parse(std::string_view text,
                          const std::array<Enum, N>& all) {
  for (auto x : all)
    if (to_string(x) == text)
      return x;
  return std::nullopt;
}

} // namespace

std::string_view to_string(job_status x) {
  switch (x) {
    case job_status::pending:
      return "PENDING";
    case job_status::processing:
      return "PROCESSING";
    case job_status::completed:
      return "COMPLETED";
    case job_status::failed:
      return "FAILED";
    case job_status::cancelled:
      return "CANCELLED";
  }
  return "?";
}

std::optional<job_status> job_status_from(std::string_view text) {
  return parse(text,
               std::array{job_status::pending, job_status::processing,
                          job_status::completed, job_status::failed,
                          job_status::cancelled});
}

std::string_view to_string(run_outcome x) {
  switch (x) {
    case run_outcome::completed:
      return "completed";
    case run_outcome::failed:
      return "failed";
    case run_outcome::failed_permanently:
      return "failed_permanently";
    case run_outcome::timed_out:
      return "timed_out";
    case run_outcome::lost:
      return "lost";
    case run_outcome::throttled:
      return "throttled";
    case run_outcome::provider_down:
      return "provider_down";
    case run_outcome::interrupted:
      return "interrupted";
    case run_outcome::snoozed:
      return "snoozed";
    case run_outcome::cancelled:
      return "cancelled";
  }
  return "?";
}

std::optional<run_outcome> run_outcome_from(std::string_view text) {
  return parse(text,
               std::array{run_outcome::completed, run_outcome::failed,
                          run_outcome::failed_permanently,
                          run_outcome::timed_out, run_outcome::lost,
                          run_outcome::throttled, run_outcome::provider_down,
                          run_outcome::interrupted, run_outcome::snoozed,
                          run_outcome::cancelled});
}

std::string_view to_string(verdict x) {
  switch (x) {
    case verdict::complete:
      return "complete";
    case verdict::retry:
      return "retry";
    case verdict::retry_unspent:
      return "retry_unspent";
    case verdict::fail:
      return "fail";
    case verdict::cancel:
      return "cancel";
  }
  return "?";
}

} // namespace reeve
