// tests/unit/actors/gateway_alarm.test.cpp -- timers of many on a virtual
// clock.
#define CAF_SUITE actors.gateway_alarm

#include "actors/gateway/alarm.hpp"

#include "support/actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <string>
#include <vector>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

struct fixture : test::actor_fixture {
  alarm_actor uut;
  std::vector<std::string> rung;

  fixture() : uut(sys.spawn<alarm_impl, caf::hidden>()) {
    // nop
  }

  /// An actor that notes `what` after each of the delays.
  caf::actor sleeper(std::string what, std::vector<caf::timespan> delays) {
    auto result = sys.spawn([this, what, delays](caf::event_based_actor* self) {
      for (auto delay : delays)
        run_later(self, uut, delay, [this, what] { rung.push_back(what); });
      return caf::behavior{[](int) {}};
    });
    sched.run();
    return result;
  }

  void pass(caf::timespan time) {
    sched.advance_time(time);
    sched.run();
  }

  using names = std::vector<std::string>;
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("each is called in its time, whoever asked first") {
  auto late = sleeper("late", {3s});
  auto early = sleeper("early", {1s, 2s});
  pass(999ms);
  CHECK_EQ(rung, names{});
  pass(1ms);
  CHECK_EQ(rung, names({"early"}));
  pass(1s);
  CHECK_EQ(rung, names({"early", "early"}));
  pass(1s);
  CHECK_EQ(rung, names({"early", "early", "late"}));
  pass(1h);
  CHECK_EQ(rung.size(), 3u);
}

SCENARIO("what is due together is called together") {
  auto one = sleeper("one", {1s});
  auto two = sleeper("two", {1s});
  auto three = sleeper("three", {1500ms});
  pass(2s);
  CHECK_EQ(rung, names({"one", "two", "three"}));
}

SCENARIO("who is gone is called no more, and nobody else misses it") {
  auto gone = sleeper("gone", {1s});
  auto here = sleeper("here", {1s});
  caf::anon_send_exit(gone, caf::exit_reason::user_shutdown);
  gone = nullptr;
  sched.run();
  pass(1s);
  CHECK_EQ(rung, names({"here"}));
}

SCENARIO("an alarm that nobody knows ends, whatever still waits") {
  auto one = sleeper("one", {1h});
  bool ended = false;
  uut->attach_functor([&ended] { ended = true; });
  uut = nullptr;
  sched.run();
  CHECK(ended);
  anon_send_exit(one, caf::exit_reason::user_shutdown);
  sched.run();
}

END_FIXTURE_SCOPE()
