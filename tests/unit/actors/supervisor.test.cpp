// tests/unit/actors/supervisor.test.cpp -- from a claim to a committed end.
#define CAF_SUITE actors.supervisor

#include "supervisor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

using fixture = test::supervisor_fixture;

job pending_job(int64_t seq, std::chrono::milliseconds due_in) {
  auto result = test::make_job(seq);
  result.updated_at = timestamp{1h};
  result.run_at = result.updated_at + due_in;
  return result;
}

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

// -- boot ---------------------------------------------------------------------

SCENARIO("boot starts the children in order, sweeps, claims, then serves") {
  auto booted = boot();
  CHECK(booted->value == uint16_t{8080});
  std::vector<std::string> expected{
    "start event-hub", "start db",    "start query", "start recovery",
    "start scheduler", "start job-1", "start job-2", "sweep",
  };
  REQUIRE(node->events.size() > expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    CHECK_EQ(node->events[i], expected[i]);
  CHECK_LT(node->position("sweep"), node->position("claim"));
  CHECK_LT(node->position("sweep"), node->position("start gateway"));
}

SCENARIO("the first jobs have the cores until their claim is answered") {
  node->hold_claims = true;
  auto booted = boot();
  REQUIRE_EQ(node->held_claims.size(), 1u);
  CHECK_EQ(node->count("start gateway"), 0u);
  CHECK(booted->is_open());
  claimed answer;
  answer.jobs = {test::make_claimed(1)};
  answer_claim(answer);
  CHECK_EQ(node->runs.size(), 1u);
  CHECK_EQ(node->count("start gateway"), 1u);
  CHECK(booted->value.has_value());
}

SCENARIO("a first claim that fails keeps nobody from being served") {
  node->hold_claims = true;
  auto booted = boot();
  fail_claim(ec::store_unavailable);
  CHECK_EQ(node->count("start gateway"), 1u);
  CHECK(booted->value.has_value());
}

SCENARIO("nothing is claimed and nobody served before the sweep succeeded") {
  node->sweep_errors = {ec::store_unavailable, ec::store_unavailable};
  auto booted = boot();
  CHECK(booted->is_open());
  caf::anon_send(uut, wake_atom_v);
  pass(500ms);
  CHECK_EQ(node->count("sweep"), 2u);
  CHECK_EQ(node->count("claim"), 0u);
  CHECK_EQ(node->count("start gateway"), 0u);
  pass(500ms);
  CHECK_EQ(node->count("sweep"), 3u);
  CHECK_EQ(node->count("claim"), 1u);
  CHECK(booted->value.has_value());
}

SCENARIO("a database that is away at boot is waited for") {
  node->absent["db"] = 3;
  auto booted = boot();
  CHECK_EQ(node->count("start db"), 0u);
  for (auto i = 0; i < 3; ++i)
    pass(1s);
  CHECK_EQ(node->count("start db"), 1u);
  pass(1s);
  CHECK(booted->value.has_value());
  CHECK_EQ(shown("db").restarts, 1u);
}

SCENARIO("a socket that cannot be opened fails the boot") {
  node->port = caf::make_error(ec::cannot_listen, "address in use");
  CHECK_EQ(boot()->err, ec::cannot_listen);
}

// -- claiming -----------------------------------------------------------------

SCENARIO("as many jobs are claimed as slots are free") {
  boot();
  REQUIRE_EQ(node->claims.size(), 1u);
  CHECK_EQ(node->claims[0].first.limit, 2u);
  CHECK_EQ(node->claims[0].first.owner.str(), "node#7");
  CHECK(node->claims[0].first.lease == 30s);
  CHECK(!node->claims[0].second);
  enqueue_due({1, 2, 3});
  REQUIRE_EQ(node->runs.size(), 2u);
  CHECK_EQ(node->runs[0].first, "job-1");
  CHECK_EQ(node->runs[1].first, "job-2");
  CHECK_EQ(node->runs[0].second.job.id, "job-1");
  CHECK(node->runs[0].second.timeout == 90s);
  CHECK_EQ(node->queue.size(), 1u);
  WHEN("a slot becomes free") {
    auto before = node->claims.size();
    report(1, outcome::completed({}));
    THEN("the next job is claimed at once, with a new token") {
      REQUIRE_EQ(node->runs.size(), 3u);
      CHECK_EQ(node->runs[2].first, "job-1");
      CHECK_EQ(node->runs[2].second.job.id, "job-3");
      CHECK_EQ(node->claims[before].first.limit, 1u);
      CHECK_LT(node->claims[before - 1].first.token,
               node->claims[before].first.token);
    }
  }
}

SCENARIO("work that is committed is claimed at once, without a timer") {
  boot();
  auto before = node->claims.size();
  node->queue.push_back(test::make_claimed(1));
  commit({pending_job(1, 0ms)}, true);
  CHECK_EQ(node->claims.size(), before + 1);
  REQUIRE_EQ(node->runs.size(), 1u);
  CHECK(node->due.empty());
  AND("watchers hear of the job first, then of its run") {
    REQUIRE_EQ(node->published.size(), 2u);
    CHECK(node->published[0].front().status == job_status::pending);
    REQUIRE_EQ(node->published[1].size(), 1u);
    CHECK(node->published[1].front().status == job_status::processing);
    CHECK_EQ(node->published[1].front().id, node->runs[0].second.job.id);
  }
}

SCENARIO("a new job and its claim go into one transaction") {
  boot();
  auto add = [this](std::string type, bool is_later) {
    node->events.clear();
    auto before = node->joined;
    enqueue_write what;
    what.type = std::move(type);
    if (is_later)
      what.run_at = timestamp::max();
    auto added = ask<enqueued>(uut, std::move(what));
    settle();
    CHECK(added->value.has_value());
    return node->joined - before;
  };
  CHECK_EQ(add("CARD_ANALYSIS", false), 1u);
  // The write follows: the claim waits for nothing else.
  CHECK(node->events == (std::vector<std::string>{"join", "claim", "enqueue"}));
  AND("a claim that could not take it is not made") {
    CHECK_EQ(add("CARD_ANALYSIS", true), 0u);
    CHECK_EQ(add("UNKNOWN", false), 0u);
    node->hold_claims = true;
    CHECK_EQ(add("CARD_ANALYSIS", false), 1u);
    // One is under way.
    CHECK_EQ(add("CARD_ANALYSIS", false), 0u);
  }
}

SCENARIO("a job that is due later goes to the scheduler") {
  boot();
  auto before = node->claims.size();
  auto later = pending_job(1, 1500ms);
  later.run_at += std::chrono::microseconds{1};
  commit({later});
  CHECK(node->due == std::vector<int64_t>{1501});
  CHECK_EQ(node->claims.size(), before);
  AND("so does what a claim tells of") {
    node->next_due_in = 700ms;
    caf::anon_send(uut, wake_atom_v);
    settle();
    CHECK(node->due == (std::vector<int64_t>{1501, 700}));
  }
}

SCENARIO("only one claim is under way, and what came meanwhile is not lost") {
  boot();
  node->hold_claims = true;
  enqueue_due({1});
  enqueue_due({2});
  enqueue_due({3});
  REQUIRE_EQ(node->held_claims.size(), 1u);
  answer_claim({});
  CHECK_EQ(node->runs.size(), 2u);
}

SCENARIO("a job that comes during a claim is committed with the next one") {
  using events = std::vector<std::string>;
  auto add = [this](std::string id) {
    enqueue_write what;
    what.id = std::move(id);
    what.type = "CARD_ANALYSIS";
    ask<enqueued>(uut, std::move(what));
    settle();
  };
  auto add_during_a_claim = [&] {
    boot();
    node->hold_claims = true;
    add("job-1");
    REQUIRE_EQ(node->held_claims.size(), 1u);
    node->events.clear();
    add("job-2");
    CHECK(node->events == (events{"join", "enqueue"}));
    node->events.clear();
  };
  auto answer_with = [&](std::initializer_list<int64_t> seqs) {
    claimed result;
    for (auto seq : seqs)
      result.jobs.push_back(test::make_claimed(seq));
    answer_claim(std::move(result));
    // The mock answers a claim when it is told to flush.
    node->events.erase(node->events.begin());
  };
  add_during_a_claim();
  answer_with({1});
  CHECK(node->events == (events{"claim"}));
  AND("none follows when the first one came in time for it, too") {
    add_during_a_claim();
    answer_with({1, 2});
    CHECK(node->events.empty());
  }
  AND("it is let go when others take the slots") {
    add_during_a_claim();
    answer_with({7, 8});
    CHECK(node->events == (events{"flush"}));
  }
  AND("it is let go when the claim fails") {
    add_during_a_claim();
    fail_claim(ec::store_unavailable);
    node->events.erase(node->events.begin());
    CHECK(node->events == (events{"flush"}));
  }
  AND("it waits for none where there may be no slot for it") {
    options.workers = 1;
    boot();
    node->hold_claims = true;
    add("job-1");
    node->events.clear();
    add("job-2");
    CHECK(node->events == (events{"enqueue"}));
  }
}

SCENARIO("a slot that comes free during a claim asks for no other") {
  auto free_one_during_a_claim = [this] {
    boot();
    enqueue_due({1});
    node->hold_claims = true;
    enqueue_due({2});
    auto before = node->claims.size();
    report(1, outcome::completed({}));
    CHECK_EQ(node->claims.size(), before);
    claimed got;
    got.jobs = {test::make_claimed(2)};
    node->queue.clear();
    answer_claim(std::move(got));
    return node->claims.size() - before;
  };
  CHECK_EQ(free_one_during_a_claim(), 0u);
  AND("unless that could not ask for all") {
    options.type = [](const std::string&) {
      type_options result;
      result.concurrency = 5;
      return result;
    };
    CHECK_EQ(free_one_during_a_claim(), 1u);
  }
}

SCENARIO("a claim without an answer is asked again by its token") {
  boot();
  node->claim_errors = {ec::store_unavailable, ec::outcome_unknown};
  enqueue_due({1});
  CHECK(node->runs.empty());
  auto first = node->claims.back().first;
  for (auto i = 0; i < 2; ++i) {
    pass(499ms);
    auto before = node->claims.size();
    pass(1ms);
    REQUIRE_EQ(node->claims.size(), before + 1);
    CHECK_EQ(node->claims.back().first.token, first.token);
    CHECK(node->claims.back().second);
  }
  CHECK_EQ(node->runs.size(), 1u);
}

SCENARIO("a claim that joined a write is asked again like any other") {
  boot();
  node->claim_errors = {ec::store_unavailable};
  enqueue_write what;
  what.type = "CARD_ANALYSIS";
  ask<enqueued>(uut, std::move(what));
  settle();
  REQUIRE_EQ(node->joined, 1u);
  auto first = node->claims.back().first;
  pass(500ms);
  CHECK_EQ(node->joined, 1u);
  CHECK_EQ(node->claims.back().first.token, first.token);
  CHECK(node->claims.back().second);
}

SCENARIO("a node with too many unsettled ends claims nothing more") {
  options.workers = 1;
  options.max_unsettled = 2;
  boot();
  node->hold_settles = true;
  enqueue_due({1, 2, 3});
  report(1, outcome::completed({}));
  report(2, outcome::completed({}));
  CHECK_EQ(node->runs.size(), 2u);
  answer_settle();
  CHECK_EQ(node->runs.size(), 3u);
}

// -- ends ---------------------------------------------------------------------

SCENARIO("a completed run is settled with its result and its card") {
  boot();
  enqueue_due({1});
  auto result = outcome::completed({{"n", 1}});
  result.effects.push_back(test::make_card("card-1"));
  report(1, result);
  const auto& write = only_settle();
  CHECK(write.decision == verdict::complete);
  CHECK(write.outcome == run_outcome::completed);
  CHECK(write.result.value() == nlohmann::json({{"n", 1}}));
  REQUIRE_EQ(write.effects.size(), 1u);
  CHECK(std::holds_alternative<knowledge_card>(write.effects[0]));
  CHECK_EQ(write.claimed->id, "job-1");
  CHECK_EQ(write.claimed->run, 1);
  CHECK_EQ(write.owner.str(), "node#7");
  CHECK(!node->settles[0].second);
}

SCENARIO("a failed run is tried again after its backoff") {
  boot();
  enqueue_due({1});
  report(1, outcome::failed("no luck"));
  const auto& write = only_settle();
  CHECK(write.decision == verdict::retry);
  CHECK(write.delay == 10s);
  CHECK_EQ(write.error, "no luck");
  CHECK_EQ(write.why, "attempt 1 of 3 failed; trying again");
}

SCENARIO("timeouts, throttling and permanent failures have their verdicts") {
  boot();
  auto settled_as = [this](outcome result) {
    node->settles.clear();
    enqueue_due({1});
    report(1, std::move(result));
    return only_settle();
  };
  outcome late;
  late.kind = run_outcome::timed_out;
  late.message = "Timed out after 90000 ms";
  CHECK(settled_as(late).decision == verdict::retry);
  auto permanent = settled_as(outcome::failed_permanently("bad input"));
  CHECK(permanent.decision == verdict::fail);
  CHECK(permanent.outcome == run_outcome::failed_permanently);
  auto throttled = settled_as(outcome::throttled("429", 45s));
  CHECK(throttled.decision == verdict::retry_unspent);
  CHECK(throttled.delay == 45s);
  auto snoozed = settled_as(outcome::snoozed(3s));
  CHECK(snoozed.decision == verdict::retry_unspent);
  CHECK(snoozed.delay == 3s);
}

SCENARIO("the last attempt's failure is final") {
  boot();
  node->queue.push_back(test::make_claimed(1, 3));
  caf::anon_send(uut, wake_atom_v);
  settle();
  report(1, outcome::failed("no luck"), 3);
  CHECK(only_settle().decision == verdict::fail);
}

SCENARIO("a report of a run that this node does not have is ignored") {
  boot();
  enqueue_due({1});
  report(2, outcome::completed({}));
  report(1, outcome::completed({}), 9);
  CHECK(node->settles.empty());
  report(1, outcome::completed({}));
  report(1, outcome::failed("twice"));
  CHECK(only_settle().decision == verdict::complete);
}

SCENARIO("a settlement that the store could not take is repeated") {
  boot();
  enqueue_due({1});
  node->settle_errors = {ec::store_unavailable, ec::outcome_unknown};
  report(1, outcome::completed({{"n", 1}}));
  CHECK_EQ(node->settles.size(), 1u);
  pass(499ms);
  CHECK_EQ(node->settles.size(), 1u);
  pass(1ms);
  CHECK_EQ(node->settles.size(), 2u);
  pass(500ms);
  REQUIRE_EQ(node->settles.size(), 3u);
  CHECK(node->settles[1].second);
  CHECK(node->settles[2].second);
  CHECK(node->settles[2].first.result.value() == nlohmann::json({{"n", 1}}));
  pass(10s);
  CHECK_EQ(node->settles.size(), 3u);
}

SCENARIO("the slot takes the next job while its last end is not committed") {
  options.workers = 1;
  boot();
  node->hold_settles = true;
  enqueue_due({1, 2});
  report(1, outcome::completed({}));
  REQUIRE_EQ(node->runs.size(), 2u);
  CHECK_EQ(node->runs[1].second.job.id, "job-2");
}

SCENARIO("a result that the store cannot keep fails the job for good") {
  boot();
  enqueue_due({1});
  node->settle_errors = {
    caf::make_error(ec::invalid_argument, "U+0000 in a text")};
  auto result = outcome::completed({{"n", 1}});
  result.effects.push_back(knowledge_card{});
  report(1, result);
  REQUIRE_EQ(node->settles.size(), 2u);
  const auto& write = node->settles[1].first;
  CHECK(write.decision == verdict::fail);
  CHECK(write.outcome == run_outcome::failed_permanently);
  CHECK(write.error.find("U+0000 in a text") != std::string::npos);
  CHECK(write.result.is_null());
  CHECK(write.effects.empty());
}

SCENARIO("a refusal that nothing can cure is dropped, not repeated") {
  boot();
  for (auto error : {ec::not_found, ec::conflict, ec::lease_lost}) {
    node->settles.clear();
    node->settle_errors = {error};
    enqueue_due({1});
    report(1, outcome::failed("no luck"));
    pass(1min);
    CHECK_EQ(node->settles.size(), 1u);
  }
}

// -- what others ask ----------------------------------------------------------

SCENARIO("reads, writes and subscriptions reach whoever serves them") {
  boot();
  auto read = ask<job>(uut, find_atom_v, std::string{"some id"});
  enqueue_write write;
  write.id = "new id";
  auto added = ask<enqueued>(uut, write);
  auto moved = ask<changed>(uut, progress_write{});
  auto ready = ask<caf::unit_t>(uut, ready_atom_v);
  settle();
  CHECK_EQ(read->value->id, "some id");
  CHECK_EQ(added->value->job.id, "new id");
  CHECK(moved->value.has_value());
  CHECK(ready->value.has_value());
}

SCENARIO("the tree shows every actor, silent ones as unresponsive") {
  node->silent["query"] = true;
  boot();
  auto shown_tree = ask<tree_report>(uut, tree_atom_v);
  settle();
  pass(249ms);
  CHECK(shown_tree->is_open());
  pass(1ms);
  REQUIRE(shown_tree->value.has_value());
  std::vector<std::string> lines;
  for (const auto& x : shown_tree->value->actors)
    lines.push_back(x.name + ' ' + x.state);
  std::vector<std::string> expected{
    "supervisor running", "event-hub mocked", "db mocked",
    "query unresponsive", "recovery mocked",  "scheduler mocked",
    "job-1 mocked",       "executor-1 ",      "job-2 mocked",
    "executor-2 ",        "gateway mocked",
  };
  CHECK_EQ(lines, expected);
  CHECK_EQ(shown_tree->value->actors[9].parent, "job-2");
  const auto& db = shown_tree->value->actors[2];
  CHECK_EQ(db.parent, "supervisor");
  CHECK_EQ(db.messages, 7u);
  CHECK_EQ(db.id, node->actors["db"].id());
  AND("the supervisor tells its own figures") {
    const auto& own = shown_tree->value->actors[0];
    REQUIRE(own.handling.has_value());
    CHECK_GT(own.messages, 0u);
    CHECK_EQ(own.messages, own.handling->count);
    CHECK(!own.budget);
  }
}

END_FIXTURE_SCOPE()
