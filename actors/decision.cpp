// actors/decision.cpp -- the outcome table.
#include "actors/decision.hpp"

#include "config/duration.hpp"

#include <algorithm>
#include <cmath>

namespace reeve {

namespace {

using std::chrono::milliseconds;

// Nobody may park a job for longer than this, whatever a header says.
constexpr milliseconds longest_delay = std::chrono::hours{24 * 30};

decision spend(const job& claimed, std::string_view how, milliseconds floor,
               const retry_options& options, double random) {
  auto count = "attempt " + std::to_string(claimed.attempts) + " of "
    + std::to_string(claimed.max_attempts) + ' ' + std::string{how};
  if (claimed.attempts >= claimed.max_attempts)
    return {verdict::fail, milliseconds{0}, count + "; none is left"};
  auto delay = std::max(backoff(claimed.attempts, options, random), floor);
  return {verdict::retry, delay, count + "; trying again"};
}

decision keep(uint32_t before, std::string_view how, milliseconds floor,
              const retry_options& options, double random) {
  if (before >= options.max_unspent)
    return {verdict::fail, milliseconds{0},
            std::string{how} + " more than "
              + std::to_string(options.max_unspent) + " times"};
  auto delay = std::max(backoff(before + 1, options, random), floor);
  return {verdict::retry_unspent, delay,
          std::string{how} + ": not the job's fault, no attempt spent"};
}

} // namespace

milliseconds backoff(uint64_t n, const retry_options& options, double random) {
  auto base = static_cast<double>(in_ms(options.backoff).count());
  auto highest = static_cast<double>(in_ms(options.max_backoff).count());
  // pow() saturates at infinity, which min() brings back; a NaN loses every
  // comparison, hence the order of the arguments.
  auto power = static_cast<double>(std::max<uint64_t>(n, 1) - 1);
  auto delay = std::min(highest, base * std::pow(options.factor, power));
  delay *= 1.0 + options.jitter * (2.0 * std::clamp(random, 0.0, 1.0) - 1.0);
  return milliseconds{static_cast<int64_t>(std::max(0.0, delay))};
}

decision decide(const job& claimed, run_outcome how,
                std::optional<milliseconds> requested,
                const retry_options& options, double random) {
  auto floor = std::clamp(requested.value_or(milliseconds{0}), milliseconds{0},
                          longest_delay);
  const auto& unspent = claimed.unspent;
  switch (how) {
    case run_outcome::completed:
      return {verdict::complete, milliseconds{0}, "completed"};
    case run_outcome::cancelled:
      return {verdict::cancel, milliseconds{0}, "cancelled on request"};
    case run_outcome::failed_permanently:
      return {verdict::fail, milliseconds{0}, "trying again cannot help"};
    case run_outcome::failed:
      return spend(claimed, "failed", floor, options, random);
    case run_outcome::timed_out:
      return spend(claimed, "timed out", floor, options, random);
    case run_outcome::lost:
      return spend(claimed, "was lost", floor, options, random);
    case run_outcome::throttled:
      return keep(unspent.throttled, "throttled", floor, options, random);
    case run_outcome::provider_down:
      return keep(unspent.provider_down, "provider down", floor, options,
                  random);
    case run_outcome::interrupted:
      if (unspent.interrupted >= options.max_unspent)
        return keep(unspent.interrupted, "interrupted", floor, options, random);
      return {verdict::retry_unspent, floor,
              "interrupted: not the job's fault, no attempt spent"};
    case run_outcome::snoozed:
      return {verdict::retry_unspent, floor, "snoozed by its processor"};
  }
  return {verdict::fail, milliseconds{0}, "unknown outcome"};
}

} // namespace reeve
