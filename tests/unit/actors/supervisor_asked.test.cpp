// tests/unit/actors/supervisor_asked.test.cpp -- restarts that an operator asks
// for.
#define CAF_SUITE actors.supervisor_asked

#include "supervisor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

struct fixture : test::supervisor_fixture {
  test::reply_ptr<actor_report> restart(std::string name,
                                        std::string reason = "") {
    auto result =
      ask<actor_report>(uut, restart_actor{std::move(name), std::move(reason)});
    settle();
    return result;
  }

  std::string text_of(const caf::error& err) {
    CAF_REQUIRE(err.context().match_elements<std::string>());
    return err.context().get_as<std::string>(0);
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a restart is at once, and shown with its reason") {
  boot();
  auto before = node->actors["query"].id();
  auto answer = restart("query", "it was slow");
  REQUIRE(answer->value.has_value());
  CHECK_EQ(node->count("stop query"), 1u);
  CHECK_EQ(node->count("start query"), 2u);
  CHECK_EQ(answer->value->restarts, 1u);
  CHECK_EQ(answer->value->state, "running");
  auto shown_now = shown("query");
  CHECK_NE(shown_now.id, before);
  CHECK_EQ(shown_now.id, answer->value->id);
  REQUIRE_EQ(shown_now.restart_history.size(), 1u);
  CHECK_EQ(shown_now.restart_history[0].reason, "it was slow");
  CHECK(shown_now.restart_history[0].by_operator);
  AND("reads go to the new one") {
    auto read = ask<job>(uut, find_atom_v, std::string{"id"});
    settle();
    CHECK(read->value.has_value());
  }
}

SCENARIO("a running job goes back, and no attempt is spent") {
  boot();
  enqueue_due({1, 2});
  auto control = node->runs[0].second.control;
  CHECK(restart("job-1")->value.has_value());
  CHECK(control.stop_requested());
  const auto& write = only_settle();
  CHECK_EQ(write.claimed->id, "job-1");
  CHECK(write.outcome == run_outcome::interrupted);
  CHECK(write.decision == verdict::retry_unspent);
  // Its processor may take that long to stop: it must not run beside itself.
  CHECK(write.delay == supervisor_options{}.wedged_grace);
  CHECK_EQ(write.error, "Its job actor was restarted by an operator");
  AND("a late end of that run counts for nothing") {
    report(1, outcome::completed({}));
    CHECK_EQ(node->settles.size(), 1u);
  }
  AND("the new slot takes work, the other one was not touched") {
    enqueue_due({3});
    REQUIRE_EQ(node->runs.size(), 3u);
    CHECK_EQ(node->runs[2].second.job.id, "job-3");
    report(2, outcome::completed({}));
    CHECK(node->settles[1].first.decision == verdict::complete);
  }
}

SCENARIO("a job that was cancelled is cancelled by the restart") {
  boot();
  enqueue_due({1});
  auto cancelled = test::make_claimed(1);
  cancelled.cancel_requested = true;
  commit({cancelled});
  restart("job-1");
  CHECK(only_settle().decision == verdict::cancel);
}

SCENARIO("what a run has finished by then counts") {
  boot();
  enqueue_due({1});
  REQUIRE(node->last_bundle != nullptr);
  node->last_bundle->finish(outcome::completed({{"n", 1}}),
                            sched.clock().now());
  restart("job-1");
  CHECK(only_settle().decision == verdict::complete);
}

SCENARIO("a restart spends no budget, however often it is asked for") {
  boot();
  for (int i = 0; i < 20; ++i) {
    CHECK(restart("scheduler")->value.has_value());
    pass(100ms);
  }
  CHECK(!has_ended());
  auto now = shown("scheduler");
  CHECK_EQ(now.restarts, 20u);
  CHECK_EQ(now.restart_history.size(), 10u);
  REQUIRE(now.budget.has_value());
  CHECK_EQ(now.budget->deaths, 5u);
}

SCENARIO("deaths are taken from the budget, and come back to it") {
  boot();
  CHECK_EQ(shown("query").budget->deaths, 5u);
  kill_child("query");
  pass(100ms);
  kill_child("query");
  pass(200ms);
  auto now = shown("query");
  CHECK_EQ(now.budget->deaths, 3u);
  CHECK_EQ(now.budget->of, 5u);
  CHECK_EQ(now.budget->window, 60s);
  REQUIRE_EQ(now.restart_history.size(), 2u);
  CHECK(!now.restart_history[0].by_operator);
  CHECK_EQ(now.restart_history[0].reason, now.last_error);
  pass(1min);
  CHECK_EQ(shown("query").budget->deaths, 5u);
  CHECK_EQ(shown("query").restart_history.size(), 2u);
}

SCENARIO("a degraded slot is given a new budget") {
  boot();
  exhaust("job-1");
  CHECK_EQ(shown("job-1").state, "degraded");
  CHECK_EQ(shown("job-1").budget->deaths, 0u);
  CHECK(restart("job-1", "mended")->value.has_value());
  auto now = shown("job-1");
  CHECK_EQ(now.state, "mocked");
  CHECK_EQ(now.budget->deaths, 5u);
  CHECK_EQ(now.restart_history.back().reason, "mended");
  enqueue_due({1, 2});
  CHECK_EQ(node->runs.size(), 2u);
}

SCENARIO("one that hangs is replaced all the same") {
  node->silent["query"] = true;
  boot();
  CHECK_EQ(shown("query").state, "unresponsive");
  node->silent.clear();
  CHECK(restart("query")->value.has_value());
  CHECK_EQ(shown("query").state, "mocked");
}

SCENARIO("some may not be restarted, and the answer says why") {
  boot();
  auto refused = [this](std::string name, std::string_view text) {
    auto answer = restart(name);
    CHECK_EQ(answer->err, ec::conflict);
    CHECK(text_of(answer->err).find(text) != std::string::npos);
  };
  refused("supervisor", "restart the node");
  refused("db", "in doubt");
  refused("gateway", "this very request");
  refused("executor-2", "restart job-2");
  CHECK_EQ(node->count("stop db"), 0u);
  CHECK_EQ(node->count("stop gateway"), 0u);
  for (std::string name : {"", "executor-", "executor-3", "job-3", "Query"})
    CHECK_EQ(restart(name)->err, ec::not_found);
  AND("one that is being restarted is left alone") {
    kill_child("query");
    refused("query", "already");
    pass(100ms);
    CHECK_EQ(shown("query").restarts, 1u);
  }
}

SCENARIO("a restart that finds no database is caught up on") {
  boot();
  node->absent["query"] = 1;
  auto answer = restart("query", "try it");
  REQUIRE(answer->value.has_value());
  CHECK_EQ(answer->value->state, "restarting");
  CHECK_EQ(answer->value->restarts, 0u);
  pass(1s);
  auto now = shown("query");
  CHECK_EQ(now.restarts, 1u);
  CHECK_EQ(now.restart_history.back().reason, "try it");
  CHECK(now.restart_history.back().by_operator);
}

SCENARIO("a node that drains restarts nothing") {
  boot();
  enqueue_due({1});
  caf::anon_send(uut, drain_atom_v);
  settle();
  CHECK_EQ(restart("job-1")->err, ec::shutting_down);
  CHECK(node->settles.empty());
}

END_FIXTURE_SCOPE()
