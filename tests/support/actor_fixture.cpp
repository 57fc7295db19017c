// tests/support/actor_fixture.cpp -- the end of a test, and sample jobs.
#include "support/actor_fixture.hpp"

namespace reeve::test {

actor_fixture::~actor_fixture() {
  for (const auto& x : adopted_)
    caf::anon_send_exit(x, caf::exit_reason::kill);
  adopted_.clear();
  sched.run();
}

job make_job(int64_t seq, job_status status) {
  job result;
  result.seq = seq;
  result.id = "job-" + std::to_string(seq);
  result.type = "CARD_ANALYSIS";
  result.target_id = "target-" + std::to_string(seq);
  result.status = status;
  return result;
}

job make_claimed(int64_t seq, uint32_t attempts) {
  auto result = make_job(seq, job_status::processing);
  result.attempts = attempts;
  result.run = attempts;
  result.version = 2;
  return result;
}

run_bundle_ptr bundle_of(std::vector<assignment> runs) {
  return std::make_shared<run_bundle>(std::move(runs));
}

scrap make_scrap(std::string id) {
  scrap result;
  result.id = std::move(id);
  result.content = "text";
  return result;
}

knowledge_card make_card(std::string id) {
  knowledge_card result;
  result.id = std::move(id);
  result.scrap_id = "scrap-1";
  return result;
}

} // namespace reeve::test
