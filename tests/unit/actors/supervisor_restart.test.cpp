// tests/unit/actors/supervisor_restart.test.cpp -- any child may die at any
// message.
#define CAF_SUITE actors.supervisor_restart

#include "supervisor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

struct fixture : test::supervisor_fixture {
  // The only slot dies before the claim for it is answered.
  void claim_for_a_dying_slot() {
    node->hold_claims = true;
    caf::anon_send(uut, wake_atom_v);
    settle();
    kill_child("job-1");
    claimed answer;
    answer.jobs = {test::make_claimed(1)};
    answer_claim(answer);
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

// -- slots --------------------------------------------------------------------

SCENARIO("the run of a killed job actor is settled as lost") {
  boot();
  enqueue_due({1, 2});
  auto control = node->runs[0].second.control;
  kill_child("job-1");
  CHECK(control.stop_requested());
  const auto& write = only_settle();
  CHECK_EQ(write.claimed->id, "job-1");
  CHECK(write.outcome == run_outcome::lost);
  CHECK(write.decision == verdict::retry);
  CHECK_EQ(write.why, "attempt 1 of 3 was lost; trying again");
  AND("its sibling goes on") {
    report(2, outcome::completed({}));
    REQUIRE_EQ(node->settles.size(), 2u);
    CHECK(node->settles[1].first.decision == verdict::complete);
  }
  AND("a late report of the lost run is ignored") {
    report(1, outcome::completed({}));
    CHECK_EQ(node->settles.size(), 2u);
  }
}

SCENARIO("a killed job actor is restarted after a backoff and used again") {
  boot();
  kill_child("job-1");
  auto down = shown("job-1");
  CHECK_EQ(down.state, "restarting");
  CHECK_EQ(down.restarts, 0u);
  CHECK_EQ(node->count("start job-1"), 2u);
  enqueue_due({1, 2});
  CHECK_EQ(node->runs.size(), 2u);
}

SCENARIO("until it is back, a dead slot is given no work") {
  boot();
  kill_child("job-1");
  enqueue_due({1, 2});
  REQUIRE_EQ(node->runs.size(), 1u);
  CHECK_EQ(node->runs[0].first, "job-2");
  pass(99ms);
  CHECK_EQ(node->runs.size(), 1u);
  pass(1ms);
  THEN("it takes what waits, at once") {
    REQUIRE_EQ(node->runs.size(), 2u);
    CHECK_EQ(node->runs[1].first, "job-1");
  }
}

SCENARIO("a slot that dies too often is degraded, its siblings go on") {
  boot();
  exhaust("job-1");
  pass(1h);
  CHECK_EQ(node->count("start job-1"), 6u);
  CHECK(!has_ended());
  auto parked = shown("job-1");
  CHECK_EQ(parked.state, "degraded");
  CHECK_EQ(parked.restarts, 5u);
  CHECK(!parked.last_error.empty());
  enqueue_due({1, 2});
  REQUIRE_EQ(node->runs.size(), 1u);
  CHECK_EQ(node->runs[0].first, "job-2");
  node->parked.insert("job-1");
  AND("when no slot is left the node ends") {
    exhaust("job-2");
    settle();
    CHECK(has_ended());
    CHECK_EQ(node->exit_reason, ec::restart_limit);
  }
}

SCENARIO("a run that dies with its slot while it was cancelled is cancelled") {
  boot();
  enqueue_due({1});
  auto cancelled = test::make_claimed(1);
  cancelled.cancel_requested = true;
  commit({cancelled});
  kill_child("job-1");
  CHECK(only_settle().decision == verdict::cancel);
}

SCENARIO("a run that dies with its slot after its lease settles nothing") {
  boot();
  enqueue_due({1});
  node->leases = std::vector<held_lease>{};
  pass(10s);
  REQUIRE_EQ(node->interrupts.size(), 1u);
  kill_child("job-1");
  CHECK(node->settles.empty());
}

SCENARIO("a job that is claimed for a slot that died waits for the next one") {
  options.workers = 1;
  boot();
  claim_for_a_dying_slot();
  CHECK(node->runs.empty());
  pass(100ms);
  CHECK_EQ(node->runs.size(), 1u);
  pass(1s);
  CHECK(node->settles.empty());
}

SCENARIO("a job that is claimed for a slot that died is given back") {
  options.workers = 1;
  boot();
  // The next time it is away for longer than a job waits.
  for (auto wait : {100ms, 200ms}) {
    kill_child("job-1");
    pass(wait);
  }
  claim_for_a_dying_slot();
  pass(200ms);
  CHECK(node->runs.empty());
  CHECK(only_settle().decision == verdict::retry_unspent);
  AND("watchers hear that it was taken, before they hear that it is back") {
    REQUIRE_EQ(node->published.size(), 1u);
    CHECK(node->published[0].front().status == job_status::processing);
  }
}

// -- the db actor -------------------------------------------------------------

SCENARIO("ends and claims under way are repeated to a new db actor") {
  boot();
  enqueue_due({1});
  node->hold_claims = true;
  node->hold_settles = true;
  report(1, outcome::completed({{"n", 1}}));
  caf::anon_send(uut, wake_atom_v);
  settle();
  REQUIRE_EQ(node->settles.size(), 1u);
  REQUIRE_EQ(node->held_claims.size(), 1u);
  auto claims = node->claims.size();
  auto token = node->claims.back().first.token;
  node->hold_claims = false;
  node->hold_settles = false;
  kill_child("db");
  pass(100ms);
  pass(500ms);
  CHECK_EQ(shown("db").restarts, 1u);
  REQUIRE_EQ(node->settles.size(), 2u);
  CHECK(node->settles[1].second);
  CHECK(node->settles[1].first.result.value() == nlohmann::json({{"n", 1}}));
  REQUIRE(node->claims.size() > claims);
  CHECK(node->claims[claims].second);
  CHECK_EQ(node->claims[claims].first.token, token);
  CHECK(!has_ended());
}

SCENARIO("while the db actor is down, writes are refused at once") {
  boot();
  kill_child("db");
  auto added = ask<enqueued>(uut, enqueue_write{});
  auto read = ask<job>(uut, find_atom_v, std::string{"id"});
  settle();
  CHECK_EQ(added->err, ec::store_unavailable);
  CHECK(read->value.has_value());
  pass(100ms);
  auto again = ask<enqueued>(uut, enqueue_write{});
  settle();
  CHECK(again->value.has_value());
}

SCENARIO("a run that ends while the db actor is down is settled later") {
  boot();
  enqueue_due({1});
  kill_child("db");
  report(1, outcome::completed({}));
  CHECK(node->settles.empty());
  pass(100ms);
  pass(500ms);
  CHECK(only_settle().decision == verdict::complete);
}

SCENARIO("a factory that finds no database spends no restart budget") {
  boot();
  node->absent["query"] = 100;
  kill_child("query");
  pass(100ms);
  for (auto i = 0; i < 99; ++i)
    pass(1s);
  CHECK(!has_ended());
  CHECK_EQ(node->count("start query"), 1u);
  pass(1s);
  CHECK_EQ(node->count("start query"), 2u);
  CHECK_EQ(shown("query").restarts, 1u);
}

// -- essential children -------------------------------------------------------

SCENARIO("a killed essential child is replaced, and the node goes on") {
  boot();
  for (std::string name :
       {"event-hub", "query", "recovery", "scheduler", "gateway"}) {
    kill_child(name);
    pass(100ms);
    CHECK_EQ(node->count("start " + name), 2u);
  }
  CHECK(!has_ended());
  job later = test::make_job(1);
  later.run_at = later.updated_at + 5s;
  commit({later});
  CHECK_EQ(node->published.size(), 1u);
  CHECK_EQ(node->due.size(), 1u);
}

SCENARIO("changes that commit while the hub is down do no harm") {
  boot();
  kill_child("event-hub");
  kill_child("scheduler");
  job later = test::make_job(1);
  later.run_at = later.updated_at + 5s;
  commit({later});
  enqueue_due({2});
  CHECK_EQ(node->runs.size(), 1u);
  CHECK(!has_ended());
  watch_filter filter;
  auto watching =
    ask<watch_started>(uut, watch_atom_v, filter, watcher_actor{});
  settle();
  CHECK_EQ(watching->err, ec::store_unavailable);
}

SCENARIO("an essential child over its budget ends the node, in order") {
  boot();
  enqueue_due({1});
  node->events.clear();
  exhaust("scheduler");
  settle();
  REQUIRE(has_ended());
  CHECK_EQ(node->exit_reason, ec::restart_limit);
  CHECK(to_string(node->exit_reason).find("scheduler") != std::string::npos);
  std::vector<std::string> stops;
  for (const auto& x : node->events)
    if (x.starts_with("stop ") && x != "stop scheduler")
      stops.push_back(x);
  std::vector<std::string> expected{"stop gateway",  "stop job-2", "stop job-1",
                                    "stop recovery", "stop query", "stop db",
                                    "stop event-hub"};
  CHECK_EQ(stops, expected);
}

SCENARIO("a death during the boot fails the boot with the node") {
  node->sweep_errors.assign(100, ec::store_unavailable);
  auto booted = boot();
  exhaust("scheduler");
  settle();
  CHECK(has_ended());
  CHECK_EQ(booted->err, ec::restart_limit);
}

SCENARIO("a killed supervisor leaves no orphans") {
  boot();
  kill(uut);
  settle();
  CHECK(node->actors.empty());
}

END_FIXTURE_SCOPE()
