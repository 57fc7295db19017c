// tests/unit/actors/db_actor_writes.test.cpp -- steps, bulk retries and pauses
// reach the store, and watchers what they changed.
#define CAF_SUITE actors.db_actor_writes

#include "db_actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace reeve::test;
using namespace std::chrono_literals;

BEGIN_FIXTURE_SCOPE(db_fixture)

SCENARIO("a step is committed with its effects, published, and fenced") {
  auto run = running_job();
  step_write write;
  write.seq = run.seq;
  write.run = run.run;
  write.step.name = "text";
  write.step.input_hash = "hash";
  write.step.result = {{"n", 1}};
  auto stored = ask<changed>(uut, write, false);
  auto late = write;
  late.run = 9;
  auto fenced = ask<changed>(uut, late, false);
  settle();
  REQUIRE(stored->value.has_value());
  CHECK_EQ(db->steps[run.seq].size(), 1u);
  CHECK_EQ(changes(), 1u);
  CHECK_EQ(fenced->err, ec::lease_lost);
  AND("a repeat after a commit in doubt stores nothing again") {
    auto again = ask<changed>(uut, write, true);
    settle();
    CHECK(again->value.has_value());
    CHECK_EQ(db->steps[run.seq].size(), 1u);
  }
}

SCENARIO("what a bulk retry brings back is published") {
  for (auto seq : {1, 2}) {
    auto failed = test::make_job(seq, job_status::failed);
    failed.error_message = "HTTP 503";
    failed.finished_at = db->now;
    db->jobs.emplace(seq, failed);
  }
  auto answer = ask<bulk_retried>(uut, bulk_retry_write{});
  settle();
  REQUIRE(answer->value.has_value());
  CHECK_EQ(answer->value->jobs.size(), 2u);
  CHECK_EQ(changes(), 2u);
}

SCENARIO("pauses and summaries are committed") {
  auto paused =
    ask<done>(uut, pause_write{"CARD_ANALYSIS", true, "the model is broken"});
  summary_write day;
  day.what.id = "summary-1";
  day.what.date = "2026-03-01";
  day.what.time_zone = "UTC";
  auto made = ask<stored_summary>(uut, day);
  settle();
  CHECK(paused->value.has_value());
  CHECK(db->is_paused("CARD_ANALYSIS"));
  REQUIRE(made->value.has_value());
  CHECK(made->value->created);
}

END_FIXTURE_SCOPE()
