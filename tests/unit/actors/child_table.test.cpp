// tests/unit/actors/child_table.test.cpp -- restart intensity.
#define CAF_SUITE actors.child_table

#include "actors/child_table.hpp"

#include "support/actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

struct fixture : test::actor_fixture {
  child_table uut;
  caf::actor_clock::time_point now{1h};

  child& add(std::string name, child_kind kind) {
    auto& result = uut.add(std::move(name), kind, {});
    start(result);
    return result;
  }

  void start(child& x) {
    x.handle = adopt(sys.spawn([] {}));
    x.state = child_state::running;
  }

  death_notice die(child& x, std::string reason = "boom") {
    auto address = x.handle.address();
    return uut.on_down(address, std::move(reason), now);
  }

  // Dies and comes back; returns how long it had to wait.
  std::chrono::milliseconds die_and_return(child& x) {
    auto notice = die(x);
    CAF_REQUIRE(notice.restart_after.has_value());
    start(x);
    return *notice.restart_after;
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("children are found by name and by address") {
  auto& one = add("one", child_kind::essential);
  auto& two = add("two", child_kind::slot);
  CHECK(uut.find("one") == &one);
  CHECK(uut.find(two.handle.address()) == &two);
  CHECK(uut.find("three") == nullptr);
  CHECK(uut.find(self->address()) == nullptr);
}

SCENARIO("the death of a stranger is nobody's") {
  add("one", child_kind::essential);
  auto notice = uut.on_down(self->address(), "boom", now);
  CHECK(notice.who == nullptr);
  CHECK(!notice.restart_after);
}

SCENARIO("a death within the budget leads to a restart") {
  auto& one = add("one", child_kind::essential);
  auto notice = die(one, "out of luck");
  CHECK(notice.who == &one);
  CHECK(notice.restart_after == 100ms);
  CHECK(one.state == child_state::backing_off);
  CHECK(!one.handle);
  CHECK_EQ(one.last_error, "out of luck");
}

SCENARIO("the backoff doubles with each recent death") {
  auto& one = add("one", child_kind::slot);
  for (auto expected : {100ms, 200ms, 400ms, 800ms, 1600ms}) {
    CHECK(die_and_return(one) == expected);
    now += 10s;
  }
}

SCENARIO("the sixth death within a minute is one too many") {
  auto& parked = add("parked", child_kind::slot);
  auto& vital = add("vital", child_kind::essential);
  auto& sibling = add("sibling", child_kind::slot);
  for (auto i = 0; i < 5; ++i) {
    die_and_return(parked);
    die_and_return(vital);
    now += 12s;
  }
  GIVEN("a slot") {
    auto notice = die(parked);
    CHECK(notice.who == &parked);
    CHECK(!notice.restart_after);
    CHECK(parked.state == child_state::degraded);
  }
  GIVEN("an essential child") {
    auto notice = die(vital);
    CHECK(notice.who == &vital);
    CHECK(!notice.restart_after);
    CHECK(vital.state == child_state::stopped);
  }
  THEN("others have a budget of their own") {
    CHECK(die(sibling).restart_after == 100ms);
  }
}

SCENARIO("deaths longer ago than the window are forgotten") {
  auto& one = add("one", child_kind::essential);
  for (auto i = 0; i < 5; ++i)
    die_and_return(one);
  WHEN("exactly the window has passed") {
    now += 60s;
    THEN("they still count") {
      auto copy = uut;
      CHECK(!copy.on_down(one.handle.address(), "boom", now).restart_after);
    }
  }
  WHEN("a little more has passed") {
    now += 1ms;
    THEN("the child starts afresh") {
      for (auto i = 0; i < 50; ++i) {
        CHECK(die_and_return(one) == 100ms);
        now += 61s;
      }
    }
  }
}

SCENARIO("states have names") {
  CHECK(to_string(child_state::running) == "running");
  CHECK(to_string(child_state::backing_off) == "restarting");
  CHECK(to_string(child_state::degraded) == "degraded");
  CHECK(to_string(child_state::stopped) == "stopped");
}

END_FIXTURE_SCOPE()
