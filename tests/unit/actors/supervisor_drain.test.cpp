// tests/unit/actors/supervisor_drain.test.cpp -- how a node ends.
#define CAF_SUITE actors.supervisor_drain

#include "supervisor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

struct fixture : test::supervisor_fixture {
  test::reply_ptr<drain_report> drain() {
    auto result = ask<drain_report>(uut, drain_atom_v);
    settle();
    return result;
  }

  bool ended_well() {
    return has_ended() && node->exit_reason == caf::exit_reason::user_shutdown;
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("an idle node ends at once, its children in reverse order") {
  boot();
  node->events.clear();
  auto report = drain();
  REQUIRE(report->value.has_value());
  CHECK_EQ(report->value->finished, 0u);
  CHECK_EQ(report->value->returned, 0u);
  CHECK_EQ(report->value->unsettled, 0u);
  CHECK(ended_well());
  std::vector<std::string> expected{
    "stop gateway",  "stop job-2", "stop job-1", "stop scheduler",
    "stop recovery", "stop query", "stop db",    "stop event-hub"};
  CHECK_EQ(node->events, expected);
}

SCENARIO("a draining node takes no new work and finishes what it has") {
  boot();
  enqueue_due({1});
  auto drained = drain();
  auto claims = node->claims.size();
  CHECK(drained->is_open());
  WHEN("there is more work") {
    enqueue_due({2});
    commit({test::make_job(3)}, true);
    pass(5s);
    CHECK_EQ(node->claims.size(), claims);
  }
  WHEN("clients come") {
    auto added = ask<enqueued>(uut, enqueue_write{});
    auto batch = ask<enqueued_batch>(uut, enqueue_batch_write{});
    auto retried = ask<changed>(uut, retry_write{});
    auto ready = ask<caf::unit_t>(uut, ready_atom_v);
    auto cancelled = ask<changed>(uut, cancel_write{});
    auto read = ask<job>(uut, find_atom_v, std::string{"id"});
    settle();
    CHECK_EQ(added->err, ec::shutting_down);
    CHECK_EQ(batch->err, ec::shutting_down);
    CHECK_EQ(retried->err, ec::shutting_down);
    CHECK_EQ(ready->err, ec::shutting_down);
    CHECK_EQ(node->enqueues, 0u);
    THEN("reads and cancels still work") {
      CHECK(cancelled->value.has_value());
      CHECK(read->value.has_value());
    }
  }
  WHEN("the running job ends") {
    report(1, outcome::completed({}));
    THEN("its end is written and the node ends normally") {
      CHECK(only_settle().decision == verdict::complete);
      REQUIRE(drained->value.has_value());
      CHECK_EQ(drained->value->finished, 1u);
      CHECK_EQ(drained->value->returned, 0u);
      CHECK(ended_well());
    }
  }
}

SCENARIO("the node waits for the commit of the last end") {
  boot();
  enqueue_due({1});
  node->hold_settles = true;
  auto drained = drain();
  report(1, outcome::completed({}));
  CHECK(drained->is_open());
  CHECK(!has_ended());
  answer_settle();
  CHECK(ended_well());
}

SCENARIO("runs that outlast the grace are given back unspent") {
  boot();
  enqueue_due({1, 2});
  auto drained = drain();
  pass(19'999ms);
  CHECK(drained->is_open());
  CHECK(!node->runs[0].second.control.stop_requested());
  pass(1ms);
  CHECK(node->runs[0].second.control.stop_requested());
  CHECK(node->runs[1].second.control.stop_requested());
  REQUIRE_EQ(node->settles.size(), 2u);
  for (const auto& [write, repeated] : node->settles) {
    CHECK(write.decision == verdict::retry_unspent);
    CHECK(write.outcome == run_outcome::interrupted);
    CHECK(write.delay == 0ms);
  }
  REQUIRE(drained->value.has_value());
  CHECK_EQ(drained->value->returned, 2u);
  CHECK_EQ(drained->value->finished, 0u);
  CHECK(ended_well());
}

SCENARIO("a cancelled run that outlasts the grace stays cancelled") {
  boot();
  enqueue_due({1, 2});
  auto cancelled = test::make_claimed(1);
  cancelled.cancel_requested = true;
  commit({cancelled});
  drain();
  pass(20s);
  REQUIRE_EQ(node->settles.size(), 2u);
  CHECK(node->settles[0].first.decision == verdict::cancel);
  CHECK(node->settles[1].first.decision == verdict::retry_unspent);
}

SCENARIO("ends that cannot be written are left to the next boot") {
  boot();
  enqueue_due({1});
  node->settle_errors.assign(100, ec::store_unavailable);
  auto drained = drain();
  pass(20s);
  CHECK(drained->is_open());
  pass(5s);
  settle();
  REQUIRE(drained->value.has_value());
  CHECK_EQ(drained->value->unsettled, 1u);
  CHECK(has_ended());
  CHECK_EQ(node->exit_reason, ec::store_unavailable);
}

SCENARIO("what a claim under way brings is given back") {
  boot();
  node->hold_claims = true;
  enqueue_due({1});
  auto drained = drain();
  CHECK(drained->is_open());
  claimed answer;
  answer.jobs = {test::make_claimed(1)};
  answer_claim(answer);
  CHECK(node->runs.empty());
  CHECK(only_settle().decision == verdict::retry_unspent);
  REQUIRE(drained->value.has_value());
  CHECK_EQ(drained->value->returned, 1u);
  CHECK(ended_well());
}

SCENARIO("everyone who asks for the drain hears of its end") {
  boot();
  enqueue_due({1});
  auto first = drain();
  auto second = drain();
  report(1, outcome::completed({}));
  CHECK(first->value.has_value());
  CHECK(second->value.has_value());
}

SCENARIO("a child that does not stop is killed") {
  boot();
  // It swallows the request to stop, as a busy thread would.
  auto& stubborn = deref<caf::scheduled_actor>(node->actors["query"]);
  stubborn.set_exit_handler([](caf::exit_msg&) {});
  auto drained = drain();
  CHECK(drained->is_open());
  pass(1'999ms);
  CHECK(drained->is_open());
  pass(1ms);
  CHECK(drained->value.has_value());
  CHECK(ended_well());
}

SCENARIO("a slot that dies during the drain does not hold it up") {
  boot();
  enqueue_due({1});
  auto drained = drain();
  kill_child("job-1");
  CHECK(only_settle().outcome == run_outcome::lost);
  CHECK(drained->value.has_value());
  CHECK(ended_well());
}

SCENARIO("a drain before the node serves ends it as well") {
  node->sweep_errors.assign(100, ec::store_unavailable);
  auto booted = boot();
  auto drained = drain();
  CHECK(drained->value.has_value());
  CHECK(has_ended());
  CHECK(booted->err);
  pass(10s);
  CHECK_EQ(node->count("start gateway"), 0u);
}

END_FIXTURE_SCOPE()
