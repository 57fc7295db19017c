// persistence/job_store.cpp -- the spelling of refusals, what a success makes
// of a job, and claims by stores that read at once.
#include "persistence/job_store.hpp"

#include <utility>

namespace reeve {

namespace {

class read_claim final : public unread_claim {
public:
  explicit read_claim(claimed&& what) : what_(std::move(what)) {
    // nop
  }

  size_t size() const override {
    return what_.jobs.size();
  }

  std::map<std::string, size_t> count_by_type() const override {
    return reeve::count_by_type(what_.jobs);
  }

  claimed read() override {
    return std::move(what_);
  }

private:
  claimed what_;
};

} // namespace

std::map<std::string, size_t> count_by_type(const std::vector<job>& jobs) {
  std::map<std::string, size_t> result;
  for (const auto& x : jobs)
    ++result[x.type];
  return result;
}

claim_answer job_store::claim(const claim_write& what, bool repeated) {
  auto answers = apply({{what, repeated}});
  if (auto* no = std::get_if<refusal>(&answers.front()))
    return std::move(*no);
  return std::make_shared<read_claim>(
    std::get<reeve::claimed>(std::move(answers.front())));
}

job completed::now() const {
  auto result = *claimed;
  result.status = job_status::completed;
  result.result = this->result;
  result.progress_percent = 100;
  result.progress_message.clear();
  result.error_message.reset();
  result.reason.clear();
  result.cancel_requested = false;
  result.used = used;
  result.version = version;
  result.finished_at = finished_at;
  result.updated_at = finished_at;
  return result;
}

std::string_view to_string(refusal_code x) {
  switch (x) {
    case refusal_code::invalid_argument:
      return "invalid_argument";
    case refusal_code::not_found:
      return "not_found";
    case refusal_code::conflict:
      return "conflict";
    case refusal_code::lease_lost:
      return "lease_lost";
    case refusal_code::key_reused:
      return "key_reused";
    case refusal_code::insufficient_funds:
      return "insufficient_funds";
    case refusal_code::blocked:
      return "blocked";
  }
  return "?";
}

} // namespace reeve
