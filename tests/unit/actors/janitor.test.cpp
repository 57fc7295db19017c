// tests/unit/actors/janitor.test.cpp -- retention, by the clock and in pages.
#define CAF_SUITE actors.janitor

#include "actors/janitor.hpp"

#include "support/actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <deque>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

pruned page_of(uint32_t jobs, std::optional<int64_t> next = {}) {
  pruned result;
  result.jobs = jobs;
  result.next_after_seq = next;
  return result;
}

// Answers what the test queued; with nothing queued, nothing was old.
struct prune_script {
  std::deque<caf::expected<pruned>> answers;
  std::vector<prune_write> asked;
};

pruner_actor::behavior_type mock_pruner(std::shared_ptr<prune_script> script) {
  return {
    [script](const prune_write& x) -> caf::result<pruned> {
      script->asked.push_back(x);
      if (script->answers.empty())
        return pruned{};
      auto next = std::move(script->answers.front());
      script->answers.pop_front();
      if (!next)
        return next.error();
      return *next;
    },
  };
}

struct fixture : test::actor_fixture {
  janitor_options options{.rules = {{"A", 1h}, {"B", 24h}},
                          .interval = 60s,
                          .store_timeout = 30s,
                          .page = 100,
                          .pause = 50ms};
  std::shared_ptr<prune_script> script = std::make_shared<prune_script>();
  pruner_actor pruner;
  janitor_actor uut;

  fixture() {
    pruner = adopt(sys.spawn(mock_pruner, script));
    uut = adopt(sys.spawn<janitor_impl>(pruner, options));
    settle();
  }

  actor_report status() {
    return status_of(uut);
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("nothing is deleted before the first interval") {
  pass(59s);
  CHECK(script->asked.empty());
  CHECK_EQ(status().state, "idle");
}

SCENARIO("each rule is asked for by its own age") {
  pass(60s);
  REQUIRE_EQ(script->asked.size(), 2u);
  CHECK_EQ(script->asked[0].type, "A");
  CHECK_EQ(script->asked[0].older_than, 1h);
  CHECK_EQ(script->asked[0].after_seq, 0);
  CHECK_EQ(script->asked[0].limit, 100u);
  CHECK_EQ(script->asked[1].type, "B");
  CHECK_EQ(script->asked[1].older_than, 24h);
  AND("the sweep is over and comes again") {
    CHECK_EQ(status().state, "idle");
    pass(60s);
    CHECK_EQ(script->asked.size(), 4u);
  }
}

SCENARIO("a long history goes a page at a time, with pauses") {
  script->answers.push_back(page_of(100, 200));
  script->answers.push_back(page_of(100, 300));
  script->answers.push_back(page_of(20));
  pass(60s);
  REQUIRE_EQ(script->asked.size(), 1u);
  CHECK_EQ(status().state, "sweeping");
  pass(49ms);
  CHECK_EQ(script->asked.size(), 1u);
  pass(1ms);
  REQUIRE_EQ(script->asked.size(), 2u);
  CHECK_EQ(script->asked[1].after_seq, 200);
  pass(50ms);
  REQUIRE_EQ(script->asked.size(), 4u);
  CHECK_EQ(script->asked[2].after_seq, 300);
  CHECK_EQ(script->asked[3].type, "B");
  CHECK_EQ(script->asked[3].after_seq, 0);
}

SCENARIO("a store that refuses one rule gets the next one, and all again") {
  script->answers.push_back(
    caf::make_error(ec::store_unavailable, "connection refused"));
  pass(60s);
  CHECK_EQ(script->asked.size(), 2u);
  CHECK(status().last_error.find("connection refused") != std::string::npos);
  pass(60s);
  CHECK_EQ(script->asked.size(), 4u);
  CHECK_EQ(status().last_error, "");
}

SCENARIO("a store that never answers ends the sweep, not the loop") {
  kill(pruner);
  settle();
  pass(60s);
  CHECK_EQ(status().state, "idle");
  CHECK(!status().last_error.empty());
}

END_FIXTURE_SCOPE()
