// tests/unit/actors/supervisor_claimer.test.cpp -- claims of many jobs go
// beside what is written meanwhile.
#define CAF_SUITE actors.supervisor_claimer

#include "supervisor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

struct fixture : test::supervisor_fixture {
  fixture() {
    options.workers = 1;
    options.types = {{"CARD_ANALYSIS", {}}, {"OTHER", {}}};
    with_claimer = true;
  }

  void queue(int64_t first, int64_t last) {
    for (auto seq = first; seq <= last; ++seq)
      node->queue.push_back(test::make_claimed(seq));
  }

  void wake() {
    caf::anon_send(uut, wake_atom_v);
    settle();
  }

  // Ends all runs of the newest bundle.
  void end_bundle() {
    run_reports news;
    for (const auto& x : node->last_bundle->runs())
      news.ended.push_back({x.job.seq, x.job.run, outcome::completed({}), 1us});
    caf::anon_send(uut, std::move(news));
    settle();
  }

  // Until claims are for many jobs at a time.
  void run_many() {
    boot();
    queue(1, 10'000);
    wake();
    while (node->claims_beside.empty())
      end_bundle();
    end_bundle();
    end_bundle();
  }

  // That db looked for it, and for no other.
  void expect_looked_for(const claim_write& beside) {
    std::vector<claim_write> found;
    for (const auto& [x, repeated] : node->claims)
      if (repeated)
        found.push_back(x);
    REQUIRE_EQ(found.size(), 1u);
    CHECK_EQ(found[0].token, beside.token);
    CHECK_EQ(found[0].limit, beside.limit);
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("claims of 64 jobs and more go to the claimer, others to db") {
  run_many();
  for (const auto& x : node->claims_beside)
    CHECK(x.limit >= 64);
  for (const auto& [x, repeated] : node->claims)
    CHECK(x.limit < 64);
  CHECK(node->claims_beside.size() >= 2);
  CHECK(node->settles.size() >= 64);
}

SCENARIO("claims with a limit over all nodes go to db, however large") {
  options.type = [](const std::string& type) {
    type_options result;
    result.concurrency = type == "OTHER" ? 0 : 5'000;
    return result;
  };
  boot();
  queue(1, 10'000);
  wake();
  for (auto i = 0; i < 20; ++i)
    end_bundle();
  CHECK(node->last_bundle->size() >= 64);
  CHECK(node->claims_beside.empty());
}

SCENARIO("the next claim goes out before the last one is read") {
  run_many();
  node->claimer_takes = 5ms;
  end_bundle();
  end_bundle();
  node->events.clear();
  pass(5ms);
  REQUIRE(!node->events.empty());
  CHECK_EQ(node->events.front(), "read while the next one is asked for");
  CHECK_EQ(node->count("claim beside"), 1u);
}

SCENARIO("a claim that took less than it asked for is read first") {
  run_many();
  node->claimer_takes = 5ms;
  end_bundle();
  end_bundle();
  node->queue.resize(10);
  node->events.clear();
  pass(5ms);
  REQUIRE(!node->events.empty());
  CHECK_EQ(node->events.front(), "read");
  CHECK_EQ(node->last_bundle->size(), 10u);
}

SCENARIO("where the claimer fails, db makes the claim, after a look for it") {
  run_many();
  node->claimer_errors = {ec::store_unavailable};
  end_bundle();
  expect_looked_for(node->claims_beside.back());
  AND("it is left alone for a while") {
    const auto beside = node->claims_beside.size();
    end_bundle();
    CHECK_EQ(node->claims_beside.size(), beside);
    CHECK(!node->claims.back().second);
    CHECK(node->claims.back().first.limit >= 64);
    pass(5s);
    queue(20'001, 20'500);
    wake();
    end_bundle();
    CHECK(node->claims_beside.size() > beside);
  }
}

SCENARIO("the claimer's death costs one look") {
  run_many();
  node->claimer_takes = 5ms;
  end_bundle();
  end_bundle();
  const auto runs = node->runs.size();
  const auto lost = node->claims_beside.back();
  kill_child("claimer");
  expect_looked_for(lost);
  CHECK(node->runs.size() > runs);
  AND("a new one is started") {
    pass(100ms);
    CHECK_EQ(node->count("start claimer"), 2u);
    CHECK(!has_ended());
  }
}

SCENARIO("an operator may have a new claimer, also for one that hangs") {
  run_many();
  node->claimer_takes = 1h;
  end_bundle();
  end_bundle();
  const auto old = node->actors["claimer"];
  const auto hanging = node->claims_beside.back();
  const auto runs = node->runs.size();
  auto answer = ask<actor_report>(uut, restart_actor{"claimer", "test"});
  settle();
  CHECK(answer->value.has_value());
  CHECK(node->actors["claimer"] != old);
  expect_looked_for(hanging);
  CHECK(node->runs.size() > runs);
}

SCENARIO("what watchers are told of a run is not taken back") {
  run_many();
  const auto& run = node->runs.back().second.job;
  auto due = test::make_job(run.seq);
  due.run = run.run - 1;
  const auto told = node->published.size();
  commit({due, test::make_job(77'777)}, true);
  REQUIRE_EQ(node->published.size(), told + 1);
  REQUIRE_EQ(node->published.back().size(), 1u);
  CHECK_EQ(node->published.back()[0].seq, 77'777);
}

SCENARIO("a drain waits for the claim under way and gives its jobs back") {
  run_many();
  node->claimer_takes = 5ms;
  end_bundle();
  end_bundle();
  node->settles.clear();
  auto drained = ask<drain_report>(uut, drain_atom_v);
  settle();
  CHECK(drained->is_open());
  pass(5ms);
  REQUIRE(drained->value.has_value());
  CHECK_EQ(drained->value->returned, node->claims_beside.back().limit);
}

END_FIXTURE_SCOPE()
