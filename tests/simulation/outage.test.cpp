// tests/simulation/outage.test.cpp -- a provider that is away, slows down or
// refuses the key, and what that costs: time, and nothing else.
#define CAF_SUITE simulation.outage

#include "node_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <algorithm>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

using test::instant;

struct fixture : test::node_fixture {
  static call_report with_effect(lane_effect effect, std::string message) {
    call_report result;
    result.effect = effect;
    result.message = std::move(message);
    return result;
  }

  // The provider answers, but not in between.
  void be_down_between(instant from, instant to) {
    world->provider = [=](instant at) {
      return at >= from && at < to
        ? with_effect(lane_effect::outage, "HTTP 503")
        : call_report{};
    };
  }

  // The only attempt of each job is the one that completed it.
  bool no_attempt_is_spent() const {
    auto is_unspent = [](const auto& x) { return x.second.attempts == 1; };
    return std::all_of(db->jobs.begin(), db->jobs.end(), is_unspent);
  }

  explanation why(std::string id) {
    auto answer = ask<explanation>(node, explain_query{std::move(id)});
    settle();
    CAF_REQUIRE(answer->value.has_value());
    return *answer->value;
  }

  lane_report shown_lane() {
    auto answer = ask<lane_reports>(node, lanes_query{});
    settle();
    CAF_REQUIRE(answer->value && answer->value->size() == 1);
    return answer->value->front();
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("an outage of ten minutes costs 300 jobs no attempt") {
  be_down_between(10s, 610s);
  boot();
  enqueue(300);
  run_for(15s);
  auto before = count(job_status::completed);
  CHECK_GT(before, 0u);
  CHECK_LT(before, 300u);
  run_for(590s);
  // Three outages open the breaker; a call may have been under way for each
  // slot. Probes follow after 5, 10, 20 and 40 s, then once a minute.
  auto during = world->calls_between(10s, 605s);
  CHECK_GE(during, 10u);
  CHECK_LE(during, 20u);
  CHECK_EQ(world->count(lane_effect::outage), world->calls_between(10s, 610s));
  CHECK_EQ(count(job_status::failed), 0u);
  CHECK(run_until_done(30min));
  CHECK(no_attempt_is_spent());
  CHECK_EQ(world->count(lane_effect::none), 300u);
}

SCENARIO("a 429 delays the lane, not just the job that drew it") {
  instant drawn{0};
  world->provider = [&](instant at) {
    if (at < 5s || drawn.count() > 0)
      return call_report{};
    drawn = world->now;
    auto result = with_effect(lane_effect::throttle, "HTTP 429");
    result.delay = 30s;
    return result;
  };
  boot();
  enqueue(60);
  run_for(20s);
  REQUIRE_GT(drawn, 0s);
  CHECK(shown_lane().state == lane_state::parked);
  CHECK_EQ(why("job-60").code, "lane_closed");
  run_for(20s);
  // Nobody of the lane called before; the clock goes in steps of 100 ms.
  CHECK_EQ(world->calls_between(drawn + 100ms, drawn + 30s), 0u);
  CHECK_GT(world->calls_between(drawn + 30s, drawn + 33500ms), 0u);
  CHECK(run_until_done(10min));
  CHECK(no_attempt_is_spent());
}

SCENARIO("a paused lane claims nothing and says why; resume goes on") {
  auto mended = false;
  world->provider = [&](instant at) {
    return at < 5s || mended
      ? call_report{}
      : with_effect(lane_effect::pause, "401: invalid x-api-key");
  };
  boot();
  enqueue(60);
  run_for(10s);
  CHECK(shown_lane().state == lane_state::paused);
  auto calls = world->calls.size();
  run_for(30min);
  CHECK_EQ(world->calls.size(), calls);
  CHECK_EQ(count(job_status::processing), 0u);
  CHECK_EQ(count(job_status::failed), 0u);
  auto because = why("job-60");
  CHECK_EQ(because.code, "lane_closed");
  CHECK(because.text.find("401: invalid x-api-key") != std::string::npos);
  CHECK(!because.until);
  mended = true;
  auto resumed = ask<done>(node, resume_lane{test::simulated_lane});
  settle();
  CHECK(resumed->value.has_value());
  CHECK_EQ(count(job_status::processing), 3u);
  CHECK(run_until_done(10min));
  CHECK(no_attempt_is_spent());
}

SCENARIO("a paused type waits on this node at once, and goes on at once") {
  boot();
  enqueue(30);
  run_for(3s);
  auto paused = ask<done>(node, pause_write{"CARD_ANALYSIS", true, "a test"});
  settle();
  CHECK(paused->value.has_value());
  auto calls = world->calls.size();
  run_for(5min);
  CHECK_EQ(world->calls.size(), calls);
  CHECK_EQ(count(job_status::processing), 0u);
  CHECK_EQ(why("job-30").code, "type_paused");
  auto resumed = ask<done>(node, pause_write{"CARD_ANALYSIS", false, ""});
  settle();
  CHECK(resumed->value.has_value());
  CHECK_EQ(count(job_status::processing), 3u);
  CHECK(run_until_done(10min));
}

SCENARIO("actors that die in an outage lose no job") {
  be_down_between(20s, 80s);
  boot();
  // A run whose actor was killed counts as an attempt.
  enqueue(60, 20);
  std::vector<std::string> mortal{"gate",      "db",  "query",
                                  "scheduler", "job", "event-hub"};
  for (auto i = 0; i < 12; ++i) {
    run_for(instant{15'000 + static_cast<int64_t>(pick(5'000))});
    const auto& name = mortal[pick(mortal.size())];
    kill(actors[name]);
    run_for(1s);
    CAF_REQUIRE(!is_dead(node));
  }
  CHECK(run_until_done(60min));
  CHECK_EQ(db->jobs.size(), 60u);
  CHECK_EQ(count(job_status::completed), 60u);
}

END_FIXTURE_SCOPE()
