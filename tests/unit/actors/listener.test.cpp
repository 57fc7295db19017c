// tests/unit/actors/listener.test.cpp -- hints of work, and a connection that
// breaks.
#define CAF_SUITE actors.listener

#include "actors/listener.hpp"

#include "support/actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <deque>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

struct source_script {
  /// What the next waits return; with nothing left the connection breaks, or
  /// the listener would never rest.
  std::deque<bool> waits;
  bool down = false;
  size_t connects = 0;
};

class fake_source : public wake_source {
public:
  explicit fake_source(std::shared_ptr<source_script> script)
    : script_(std::move(script)) {
    // nop
  }

  bool wait(std::chrono::milliseconds longest) override {
    // Longer, and `status` would be answered too late.
    CHECK_LT(longest.count(), 250);
    if (script_->waits.empty())
      throw store_unavailable("connection reset");
    auto result = script_->waits.front();
    script_->waits.pop_front();
    return result;
  }

private:
  std::shared_ptr<source_script> script_;
};

struct fixture : test::actor_fixture {
  std::shared_ptr<source_script> script = std::make_shared<source_script>();
  std::shared_ptr<int> wakes = std::make_shared<int>(0);
  wakeable_actor target;
  listener_actor uut;

  // With waits left it never rests.
  void start(bool rests = true) {
    auto count = [wakes = wakes]() -> wakeable_actor::behavior_type {
      return {[wakes](wake_atom) { ++*wakes; }};
    };
    target = adopt(sys.spawn(count));
    auto connect = [script = script]() -> std::unique_ptr<wake_source> {
      ++script->connects;
      if (script->down)
        throw store_unavailable("connection refused");
      return std::make_unique<fake_source>(script);
    };
    uut = adopt(sys.spawn<listener_impl>(connect, target));
    if (rests)
      settle();
    else
      step(5);
  }

  void reconnect() {
    advance_time(1s);
    step(5);
    CHECK_EQ(script->connects, 2u);
  }

  // So many messages.
  void step(int count) {
    for (int i = 0; i < count; ++i)
      sched.run_once();
  }

  // Not by another actor: this one comes first as long as it has messages.
  actor_report status_now() {
    auto asked = self->request(uut, caf::infinite, status_atom_v);
    step(5);
    actor_report result;
    asked.receive([&result](const actor_report& x) { result = x; },
                  [](const caf::error& err) { FAIL(err); });
    return result;
  }

  actor_report status() {
    return status_of(uut);
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("each notification wakes the target, silence does not") {
  script->waits = {false, true, false, false, true};
  start();
  THEN("it also looks once for what came before it listened") {
    CHECK_EQ(*wakes, 3);
    REQUIRE_EQ(status().counts.size(), 1u);
    CHECK_EQ(status().counts[0].second, 2u);
  }
}

SCENARIO("a broken connection is made anew, and the node looks for itself") {
  start();
  CHECK_EQ(*wakes, 1);
  CHECK_EQ(status().state, "polling");
  CHECK_EQ(status().last_error, "connection reset");
  pass(999ms);
  CHECK_EQ(script->connects, 1u);
  pass(1ms);
  CHECK_EQ(script->connects, 2u);
  CHECK_EQ(*wakes, 2);
}

SCENARIO("a first connection is believed to hear") {
  script->waits.assign(1'000, false);
  start(false);
  CHECK_EQ(status_now().state, "listening");
}

SCENARIO("after a loss the node counts on its polls until it hears something") {
  start();
  script->waits.assign(1'000, false);
  script->waits[20] = true;
  reconnect();
  CHECK_EQ(status_now().state, "polling");
  CHECK_EQ(status_now().last_error, "connection reset");
  step(20);
  CHECK_EQ(status_now().state, "listening");
  CHECK_EQ(status_now().last_error, "");
}

SCENARIO("a connection that lasts is believed, too") {
  start();
  script->waits.assign(1'000, false);
  reconnect();
  // A deaf one is found out within ten seconds.
  advance_time(10s);
  step(5);
  CHECK_EQ(status_now().state, "polling");
  advance_time(1s);
  step(5);
  CHECK_EQ(status_now().state, "listening");
}

SCENARIO("a database that is away is asked once a second") {
  script->down = true;
  start();
  for (auto tries = 1u; tries <= 5; ++tries) {
    CHECK_EQ(script->connects, tries);
    pass(1s);
  }
  CHECK_EQ(*wakes, 0);
  CHECK(!is_dead(uut));
  script->down = false;
  pass(1s);
  CHECK_EQ(*wakes, 1);
}

END_FIXTURE_SCOPE()
