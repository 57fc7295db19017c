// tests/unit/actors/scheduler.test.cpp -- one timer for the earliest job.
#define CAF_SUITE actors.scheduler

#include "actors/scheduler.hpp"

#include "support/actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

struct fixture : test::actor_fixture {
  std::shared_ptr<int> wakes = std::make_shared<int>(0);
  wakeable_actor target;
  scheduler_actor uut;

  fixture() {
    target =
      adopt(sys.spawn([wakes = wakes]() -> wakeable_actor::behavior_type {
        return {[wakes](wake_atom) { ++*wakes; }};
      }));
    // Far enough to stay out of the way of the other timers.
    start(1h);
  }

  void start(caf::timespan poll_interval) {
    uut = adopt(
      sys.spawn<scheduler_impl>(target, scheduler_options{poll_interval}));
    settle();
  }

  void due_in(std::chrono::milliseconds delay) {
    inject((due_atom, int64_t),
           from(self).to(uut).with(due_atom_v, int64_t{delay.count()}));
  }

  std::string state() {
    return status_of(uut).state;
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a job that comes due wakes the target, on time and once") {
  due_in(500ms);
  CHECK_EQ(state(), "waiting");
  pass(499ms);
  CHECK_EQ(*wakes, 0);
  pass(1ms);
  CHECK_EQ(*wakes, 1);
  CHECK_EQ(state(), "idle");
  pass(10min);
  CHECK_EQ(*wakes, 1);
}

SCENARIO("the earliest job wins, whoever comes first") {
  GIVEN("a later job after an earlier one") {
    due_in(100ms);
    due_in(300ms);
    pass(100ms);
    CHECK_EQ(*wakes, 1);
    THEN("the later one got no timer: the claim tells when it is due") {
      pass(200ms);
      CHECK_EQ(*wakes, 1);
    }
  }
  GIVEN("an earlier job after a later one") {
    due_in(300ms);
    due_in(100ms);
    pass(100ms);
    CHECK_EQ(*wakes, 2);
    THEN("the replaced timer is ignored when it fires") {
      pass(200ms);
      CHECK_EQ(*wakes, 2);
    }
  }
}

SCENARIO("a job that is announced after a wake-up gets a new timer") {
  due_in(100ms);
  pass(100ms);
  due_in(100ms);
  pass(100ms);
  CHECK_EQ(*wakes, 2);
}

SCENARIO("a job that is overdue wakes at once") {
  due_in(-1h);
  pass(0ms);
  CHECK_EQ(*wakes, 1);
}

SCENARIO("a job in the far future does not upset the clock") {
  due_in(std::chrono::milliseconds::max());
  GIVEN("something nearer") {
    due_in(1s);
    pass(1s);
    CHECK_EQ(*wakes, 1);
  }
  pass(1min);
  CHECK_EQ(*wakes, 1);
}

SCENARIO("the poll finds what nothing announced") {
  kill(uut);
  settle();
  start(5s);
  for (auto i = 1; i <= 3; ++i) {
    pass(4999ms);
    CHECK_EQ(*wakes, i - 1);
    pass(1ms);
    CHECK_EQ(*wakes, i);
  }
}

END_FIXTURE_SCOPE()
