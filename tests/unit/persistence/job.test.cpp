// tests/unit/persistence/job.test.cpp -- the spelling of the job model.
#define CAF_SUITE persistence.job

#include "persistence/job_store.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;

SCENARIO("states have one spelling") {
  const std::pair<job_status, std::string> table[] = {
    {job_status::pending, "PENDING"},
    {job_status::processing, "PROCESSING"},
    {job_status::completed, "COMPLETED"},
    {job_status::failed, "FAILED"},
    {job_status::cancelled, "CANCELLED"},
  };
  for (const auto& [status, text] : table) {
    CHECK_EQ(std::string{to_string(status)}, text);
    CHECK(job_status_from(text) == status);
  }
  for (auto text : {"", "pending", "PENDING ", "RUNNING", "?"})
    CHECK(!job_status_from(text));
}

SCENARIO("outcomes are read as they are written") {
  for (int i = 0; i <= static_cast<int>(run_outcome::cancelled); ++i) {
    const auto outcome = static_cast<run_outcome>(i);
    CHECK(to_string(outcome) != "?");
    CHECK(run_outcome_from(to_string(outcome)) == outcome);
  }
  CHECK(!run_outcome_from("COMPLETED"));
  CHECK(!run_outcome_from(""));
}

SCENARIO("verdicts and refusals have names") {
  for (auto x : {verdict::complete, verdict::retry, verdict::retry_unspent,
                 verdict::fail, verdict::cancel})
    CHECK(to_string(x) != "?");
  CHECK_EQ(std::string{to_string(verdict::retry_unspent)}, "retry_unspent");
  CHECK_EQ(std::string{to_string(refusal_code::lease_lost)}, "lease_lost");
  CHECK_EQ(std::string{to_string(refusal_code::key_reused)}, "key_reused");
}

SCENARIO("only three states are final") {
  CHECK(!is_final(job_status::pending));
  CHECK(!is_final(job_status::processing));
  CHECK(is_final(job_status::completed));
  CHECK(is_final(job_status::failed));
  CHECK(is_final(job_status::cancelled));
}
