// tests/unit/actors/gateway_shared_question.test.cpp -- one asks for all.
#define CAF_SUITE actors.gateway_shared_question

#include "actors/gateway/shared_question.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

struct fixture {
  shared_question uut;
  shared_question::time_point now{1h};

  /// How long after `when` somebody may ask again, to the tenth of a second.
  caf::timespan due_after(shared_question::time_point when) {
    for (caf::timespan passed = 0s; passed < 10min; passed += 100ms)
      if (auto copy = uut; copy.try_ask(when + passed))
        return passed;
    return 10min;
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("many watchers ask no more often than one") {
  auto mine = uut.try_ask(now);
  REQUIRE(mine != nullptr);
  CHECK(!uut.is_fresh());
  CHECK(uut.try_ask(now) == nullptr);
  // However long the answer takes.
  CHECK(uut.try_ask(now + 1h) == nullptr);
  uut.answered(mine, now + 1ms);
  CHECK(uut.is_fresh());
  CHECK_EQ(due_after(now), 1s);
}

SCENARIO("what takes long is asked seldom") {
  auto mine = uut.try_ask(now);
  uut.answered(mine, now + 3s);
  CHECK_EQ(due_after(now), 30s);
  AND("what is quick again is asked often again") {
    now += 30s;
    mine = uut.try_ask(now);
    uut.answered(mine, now + 20ms);
    CHECK_EQ(due_after(now), 1s);
  }
}

SCENARIO("what costs nothing is asked as soon as there is an answer") {
  uut = shared_question{1};
  auto mine = uut.try_ask(now);
  uut.answered(mine, now + 250ms);
  CHECK_EQ(due_after(now), 1s);
  mine = uut.try_ask(now + 1s);
  uut.answered(mine, now + 4s);
  CHECK_EQ(due_after(now + 1s), 3s);
}

SCENARIO("another one asks when the asker is lost") {
  auto mine = uut.try_ask(now);
  uut.answered(mine, now + 500ms);
  now += 5s;
  mine = uut.try_ask(now);
  REQUIRE(mine != nullptr);
  CHECK_EQ(due_after(now), 10min);
  mine.reset();
  // No sooner than if it had answered.
  CHECK_EQ(due_after(now), 5s);
}

SCENARIO("what is refused is not shown, and asked again soon") {
  auto mine = uut.try_ask(now);
  uut.answered(mine, now);
  now += 1s;
  mine = uut.try_ask(now);
  CHECK(uut.is_fresh());
  uut.failed(mine, now + 100ms, false);
  CHECK(!uut.is_fresh());
  CHECK_EQ(due_after(now), 1100ms);
}

SCENARIO(
  "who does not answer in time is left alone, as it may be at work yet") {
  auto mine = uut.try_ask(now);
  uut.answered(mine, now);
  now += 1s;
  mine = uut.try_ask(now);
  uut.failed(mine, now + 10s, true);
  CHECK(uut.is_fresh());
  CHECK_EQ(due_after(now), 70s);
}

SCENARIO("what was answered when somebody watched last is not shown") {
  auto mine = uut.try_ask(now);
  uut.answered(mine, now);
  mine = uut.try_ask(now + 1h);
  REQUIRE(mine != nullptr);
  CHECK(!uut.is_fresh());
}

END_FIXTURE_SCOPE()
