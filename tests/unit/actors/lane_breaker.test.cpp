// tests/unit/actors/lane_breaker.test.cpp -- what closes a lane, and what opens
// it again.
#define CAF_SUITE actors.lane_breaker

#include "lane_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace reeve::test;
using namespace std::chrono_literals;

BEGIN_FIXTURE_SCOPE(lane_fixture)

// -- throttling ---------------------------------------------------------------

SCENARIO("a 429 parks the lane for everybody, for Retry-After plus jitter") {
  random = 0.5;
  call(throttled(30s));
  CHECK(state() == lane_state::parked);
  CHECK(uut->report(now).opens_in == 31500ms);
  auto answer = ask();
  REQUIRE(answer.has_value());
  CHECK(answer->kind == run_outcome::throttled);
  CHECK(answer->delay == 31500ms);
  now += 31499ms;
  CHECK(state() == lane_state::parked);
  now += 1ms;
  CHECK(state() == lane_state::open);
  CHECK(is_granted());
}

SCENARIO("a 429 without Retry-After parks for the configured time") {
  call(throttled({}));
  CHECK(uut->report(now).opens_in == 10s);
}

SCENARIO("a shorter 429 does not open the lane sooner") {
  CHECK(is_granted());
  CHECK(is_granted());
  end(1, throttled(30s));
  end(2, throttled(1s));
  CHECK(uut->report(now).opens_in == 30s);
}

SCENARIO("those who wait when a 429 comes learn it at once") {
  options.concurrency = 1;
  start();
  CHECK(is_granted());
  CHECK(!ask());
  end(1, throttled(30s));
  auto answers = uut->advance(now);
  REQUIRE_EQ(answers.size(), 1u);
  CHECK_EQ(answers[0].ticket, 2u);
  CHECK_EQ(answers[0].answer.permit, 0u);
  CHECK(answers[0].answer.delay == 30s);
}

// -- breaker ------------------------------------------------------------------

SCENARIO("outages in a row break the lane; an answer between does not") {
  call(outage());
  call(outage());
  call(answered());
  call(outage());
  call(outage());
  CHECK(state() == lane_state::open);
  call(outage("HTTP 503"));
  CHECK(state() == lane_state::broken);
  CHECK_EQ(uut->report(now).reason, "HTTP 503");
  CHECK(uut->report(now).opens_in == 5s);
  CHECK_EQ(uut->report(now).outages, 3u);
}

SCENARIO("exactly one probe finds out that the provider is back") {
  break_it();
  CHECK(!ask());
  CHECK(!ask());
  now += 4999ms;
  CHECK(granted().empty());
  now += 1ms;
  CHECK(state() == lane_state::probing);
  CHECK(granted() == tickets{4});
  CHECK(granted().empty());
  end(4, answered());
  CHECK(state() == lane_state::open);
  CHECK(granted() == tickets{5});
  CHECK_EQ(uut->report(now).outages, 0u);
}

SCENARIO("a probe that fails breaks the lane again, for twice as long") {
  break_it();
  CHECK(!ask());
  now += 5s;
  CHECK(granted() == tickets{4});
  end(4, outage());
  CHECK(state() == lane_state::broken);
  CHECK(uut->report(now).opens_in == 10s);
  CHECK(granted().empty());
}

SCENARIO("a prober that dies leaves the probe to the next caller") {
  break_it();
  CHECK(!ask());
  CHECK(!ask());
  now += 5s;
  CHECK(granted() == tickets{4});
  end(4, std::nullopt);
  CHECK(state() == lane_state::probing);
  CHECK(granted() == tickets{5});
}

SCENARIO("the time between probes doubles up to its limit") {
  break_it();
  for (auto delay : {5s, 10s, 20s, 40s, 60s, 60s}) {
    CHECK(uut->report(now).opens_in == delay);
    now += delay;
    call(outage());
  }
  now += 60s;
  call(answered());
  break_it();
  CHECK(uut->report(now).opens_in == 5s);
}

SCENARIO("a far probe is no reason to wait") {
  break_it();
  now += 5s;
  call(outage());
  now += 10s;
  call(outage());
  auto answer = ask();
  REQUIRE(answer.has_value());
  CHECK(answer->kind == run_outcome::provider_down);
  CHECK(answer->delay == 20s);
}

SCENARIO("Retry-After of an outage is a floor") {
  call(outage());
  call(outage());
  auto last = outage();
  last.delay = 42s;
  call(last);
  CHECK(uut->report(now).opens_in == 42s);
}

SCENARIO("calls from before the outage neither close nor prolong it") {
  options.concurrency = 5;
  start();
  for (auto i = 0; i < 5; ++i)
    CHECK(is_granted());
  for (auto ticket : {1, 2, 3})
    end(static_cast<uint64_t>(ticket), outage());
  now += 1s;
  end(4, answered());
  CHECK(state() == lane_state::broken);
  end(5, outage());
  CHECK(uut->report(now).opens_in == 4s);
}

SCENARIO("a probe that is throttled parks the lane, which is not broken now") {
  break_it();
  now += 5s;
  call(throttled(3s));
  CHECK(state() == lane_state::parked);
  now += 3s;
  CHECK(state() == lane_state::open);
}

// -- pause --------------------------------------------------------------------

SCENARIO("a bad key pauses the lane until somebody resumes it") {
  call_report bad_key;
  bad_key.effect = lane_effect::pause;
  bad_key.message = "401: invalid x-api-key";
  CHECK(is_granted());
  end(1, bad_key);
  CHECK(state() == lane_state::paused);
  CHECK_EQ(uut->report(now).reason, "401: invalid x-api-key");
  CHECK(!uut->report(now).opens_in);
  CHECK(!uut->next_change(now));
  now += 24h;
  auto answer = ask();
  REQUIRE(answer.has_value());
  CHECK_EQ(answer->permit, 0u);
  CHECK(answer->kind == run_outcome::provider_down);
  CHECK(!answer->delay);
  CHECK(answer->reason.find("401: invalid x-api-key") != std::string::npos);
  uut->resume();
  CHECK(state() == lane_state::open);
  CHECK(is_granted());
}

SCENARIO("resume opens a broken and a parked lane, too") {
  break_it();
  uut->resume();
  CHECK(state() == lane_state::open);
  call(throttled(30s));
  uut->resume();
  CHECK(state() == lane_state::open);
  call(limited_requests(0, 30s));
  uut->resume();
  CHECK(state() == lane_state::open);
}

END_FIXTURE_SCOPE()
