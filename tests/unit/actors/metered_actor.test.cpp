// tests/unit/actors/metered_actor.test.cpp -- an instance's own figures.
#define CAF_SUITE actors.metered_actor

#include "actors/metered_actor.hpp"

#include "actors/interfaces.hpp"
#include "actors/scheduler.hpp"

#include "support/actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>
#include <caf/typed_event_based_actor.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

struct probe_state {
  static constexpr const char* name = "probe";

  probe_state(wakeable_actor::pointer, std::function<void()> on_wake)
    : on_wake_(std::move(on_wake)) {
    // nop
  }

  wakeable_actor::behavior_type make_behavior() {
    return {[this](wake_atom) { on_wake_(); }};
  }

  std::function<void()> on_wake_;
};

using probe_impl = metered_actor<wakeable_actor::stateful_impl<probe_state>>;

struct fixture : test::actor_fixture {
  int woken = 0;

  wakeable_actor spawn(std::function<void()> on_wake) {
    return adopt(sys.spawn<probe_impl>(std::move(on_wake)));
  }
};

// Work that the clock sees.
void spin(std::chrono::microseconds time) {
  auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end)
    ;
}

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("each instance counts its own messages") {
  auto one = spawn([this] { ++woken; });
  auto two = spawn([this] { ++woken; });
  for (int i = 0; i < 3; ++i)
    caf::anon_send(one, wake_atom_v);
  caf::anon_send(two, wake_atom_v);
  CHECK_EQ(meter_of(one)->depth.value(), 3);
  settle();
  CHECK_EQ(woken, 4);
  CHECK_EQ(meter_of(one)->handling.read().count, 3u);
  CHECK_EQ(meter_of(one)->wait.read().count, 3u);
  CHECK_EQ(meter_of(one)->depth.value(), 0);
  CHECK_EQ(meter_of(two)->handling.read().count, 1u);
}

SCENARIO("time in the handler and time in the mailbox are told apart") {
  auto uut = spawn([] { spin(2ms); });
  caf::anon_send(uut, wake_atom_v);
  caf::anon_send(uut, wake_atom_v);
  settle();
  auto handling = meter_of(uut)->handling.read();
  auto wait = meter_of(uut)->wait.read();
  CHECK(handling.p50 >= .0017);
  CHECK(handling.sum >= .004);
  // The second one waited for the first.
  CHECK(wait.p99 >= .0017);
  CHECK(wait.sum >= .002);
}

SCENARIO("while an actor hangs, what waits for it can be seen") {
  actor_meter_ptr meter;
  int64_t depth = 0;
  auto uut = spawn([&] { depth = std::max(depth, meter->depth.value()); });
  meter = meter_of(uut);
  for (int i = 0; i < 5; ++i)
    caf::anon_send(uut, wake_atom_v);
  settle();
  // The one in the handler is one of them.
  CHECK_EQ(depth, 5);
  CHECK_EQ(meter->depth.value(), 0);
}

SCENARIO("actors that are not metered have no meter") {
  auto plain = adopt(sys.spawn([](caf::event_based_actor*) {}));
  CHECK(meter_of(plain) == nullptr);
  CHECK(meter_of(caf::actor{}) == nullptr);
  auto metered = adopt(sys.spawn<scheduler_impl>(
    wakeable_actor{}, scheduler_options{.poll_interval = 1h}));
  CHECK(meter_of(metered) != nullptr);
}

END_FIXTURE_SCOPE()
