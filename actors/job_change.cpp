// actors/job_change.cpp -- what is read of a change without the job, and with.
#include "actors/job_change.hpp"

namespace reeve {

const job& job_change::subject() const {
  const auto* end = std::get_if<completed>(&what_);
  return end ? *end->claimed : *std::get<job_ptr>(what_);
}

job_status job_change::status() const {
  return std::holds_alternative<completed>(what_) ? job_status::completed
                                                  : subject().status;
}

int64_t job_change::version() const {
  const auto* end = std::get_if<completed>(&what_);
  return end ? end->version : subject().version;
}

size_t job_change::bytes() const {
  const auto* end = std::get_if<completed>(&what_);
  const auto& result = end ? end->result : subject().result;
  return sizeof(job) + subject().payload.bytes() + result.bytes();
}

const job_ptr& job_change::now() {
  if (const auto* end = std::get_if<completed>(&what_))
    what_ = std::make_shared<const job>(end->now());
  return std::get<job_ptr>(what_);
}

} // namespace reeve
