// tests/unit/actors/lane.test.cpp -- whose turn it is, by a virtual clock.
#define CAF_SUITE actors.lane

#include "lane_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace reeve::test;
using namespace std::chrono_literals;

BEGIN_FIXTURE_SCOPE(lane_fixture)

// -- concurrency --------------------------------------------------------------

SCENARIO("no more calls are under way than the cap allows, first come first") {
  CHECK(is_granted());
  CHECK(is_granted());
  CHECK(!ask());
  CHECK(!ask());
  CHECK(granted().empty());
  CHECK_EQ(uut->report(now).in_flight, 2u);
  CHECK_EQ(uut->report(now).waiting, 2u);
  end(2, answered());
  CHECK(granted() == tickets{3});
  end(1, answered());
  CHECK(granted() == tickets{4});
  CHECK_EQ(uut->report(now).calls, 4u);
  CHECK_EQ(uut->report(now).in_flight, 2u);
}

SCENARIO("a caller that waits for others' calls waits as long as they take") {
  options.concurrency = 1;
  start();
  CHECK(is_granted());
  CHECK(!ask());
  now += 10min;
  CHECK(uut->advance(now).empty());
  CHECK_EQ(uut->report(now).waiting, 1u);
}

SCENARIO("a holder that is gone gives back what it had, and its place") {
  options.concurrency = 1;
  start();
  CHECK(is_granted());
  CHECK(!ask());
  CHECK(!ask());
  end(2, std::nullopt);
  end(1, std::nullopt);
  CHECK(granted() == tickets{3});
  end(3, std::nullopt);
  CHECK(uut->idle());
}

SCENARIO("a permit is given back once, and only one that was given") {
  call(answered());
  end(1, outage());
  end(77, outage());
  CHECK_EQ(uut->report(now).outages, 0u);
  CHECK_EQ(uut->report(now).in_flight, 0u);
}

// -- rate limits --------------------------------------------------------------

SCENARIO("a used-up limit of requests parks the lane until its reset") {
  call(limited_requests(0, 4s));
  CHECK(state() == lane_state::parked);
  CHECK(uut->report(now).reason.find("requests") != std::string::npos);
  CHECK(uut->report(now).opens_in == 4s);
  CHECK(!ask());
  now += 3999ms;
  CHECK(granted().empty());
  CHECK(uut->next_change(now) == now + 1ms);
  now += 1ms;
  CHECK(state() == lane_state::open);
  CHECK(granted() == tickets{2});
}

SCENARIO("calls under way count against what remains") {
  call(limited_requests(1, 10s));
  CHECK(is_granted());
  CHECK(!ask());
  CHECK(state() == lane_state::open);
  end(2, limited_requests(2, 9s));
  CHECK(granted() == tickets{3});
}

SCENARIO("an answer without limits used up one request") {
  call(limited_requests(1, 10s));
  call(answered());
  CHECK(state() == lane_state::parked);
}

SCENARIO("a wait that is too long is refused with its kind and delay") {
  call(limited_requests(0, 16s));
  auto answer = ask();
  REQUIRE(answer.has_value());
  CHECK_EQ(answer->permit, 0u);
  CHECK(answer->kind == run_outcome::throttled);
  CHECK(answer->delay == 16s);
  CHECK(answer->reason.find("anthropic/claude") != std::string::npos);
  now += 1s;
  CHECK(!ask());
}

SCENARIO("tokens are reserved by those who call") {
  call(limited_tokens(500, 10s));
  CHECK(is_granted(300));
  CHECK(!ask(300));
  AND("nobody passes the one who waits") {
    CHECK(!ask(1));
  }
  end(2, limited_tokens(800, 9s));
  CHECK(granted() == (tickets{3, 4}));
}

SCENARIO("a call for more tokens than are left waits for the reset") {
  call(limited_tokens(500, 10s));
  CHECK(!ask(600));
  CHECK(state() == lane_state::open);
  CHECK(uut->next_change(now) == now + 10s);
  now += 10s;
  CHECK(granted() == tickets{2});
}

SCENARIO("a call that is larger than the bucket waits for a full one only") {
  call(limited_tokens(1'000, 10s));
  CHECK(is_granted(1'000'000));
  end(2, limited_tokens(999, 10s));
  CHECK(!ask(1'000'000));
  now += 10s;
  CHECK(granted() == tickets{3});
}

END_FIXTURE_SCOPE()
