// tests/unit/actors/recovery.test.cpp -- sweeps at boot and by the clock.
#define CAF_SUITE actors.recovery

#include "actors/recovery.hpp"

#include "support/actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <deque>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

rescued batch_of(std::vector<job> jobs, bool more) {
  rescued result;
  result.jobs = std::move(jobs);
  result.more = more;
  return result;
}

// Answers what the test queued; with nothing queued, nothing was stale.
struct rescue_script {
  std::deque<caf::expected<rescued>> answers;
  std::vector<rescue_write> asked;
};

rescuer_actor::behavior_type mock_rescuer(
  std::shared_ptr<rescue_script> script) {
  return {
    [script](const rescue_write& x) -> caf::result<rescued> {
      script->asked.push_back(x);
      if (script->answers.empty())
        return rescued{};
      auto next = std::move(script->answers.front());
      script->answers.pop_front();
      if (!next)
        return next.error();
      return std::move(*next);
    },
  };
}

struct fixture : test::actor_fixture {
  recovery_options options{.owner = {"node", 7},
                           .interval = 10s,
                           .store_timeout = 30s,
                           .batch_size = 2};
  std::shared_ptr<rescue_script> script = std::make_shared<rescue_script>();
  rescuer_actor rescuer;
  recovery_actor uut;

  fixture() {
    rescuer = adopt(sys.spawn(mock_rescuer, script));
    uut = adopt(sys.spawn<recovery_impl>(rescuer, options));
    settle();
  }

  auto sweep() {
    return ask<uint32_t>(uut, sweep_atom_v);
  }

  actor_report status() {
    return status_of(uut);
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("nobody is asked before the boot sweep or the first interval") {
  CHECK(script->asked.empty());
  CHECK_EQ(status().state, "idle");
}

SCENARIO("the boot sweep is answered when the store has answered") {
  script->answers.push_back(batch_of({test::make_job(1)}, false));
  inject((sweep_atom), from(self).to(uut).with(sweep_atom_v));
  disallow((uint32_t), from(uut).to(self));
  expect((rescue_write), from(uut).to(rescuer));
  expect((rescued), from(rescuer).to(uut));
  expect((uint32_t), from(uut).to(self).with(1u));
  REQUIRE_EQ(script->asked.size(), 1u);
  CHECK_EQ(script->asked[0].owner.str(), "node#7");
  CHECK_EQ(script->asked[0].limit, 2u);
}

SCENARIO("a sweep goes on while there is more") {
  script->answers.push_back(
    batch_of({test::make_job(1), test::make_job(2)}, true));
  script->answers.push_back(
    batch_of({test::make_job(3), test::make_job(4)}, true));
  script->answers.push_back(batch_of({test::make_job(5)}, false));
  auto answer = sweep();
  settle();
  CHECK_EQ(script->asked.size(), 3u);
  CHECK(answer->value == 5u);
  AND("the next sweep counts from zero") {
    auto second = sweep();
    settle();
    CHECK(second->value == 0u);
  }
}

SCENARIO("whoever asks during a sweep gets that sweep's answer") {
  script->answers.push_back(batch_of({test::make_job(1)}, true));
  script->answers.push_back(batch_of({test::make_job(2)}, false));
  inject((sweep_atom), from(self).to(uut).with(sweep_atom_v));
  inject((sweep_atom), from(self).to(uut).with(sweep_atom_v));
  settle();
  CHECK_EQ(status().state, "idle");
  CHECK_EQ(script->asked.size(), 2u);
  expect((uint32_t), from(uut).to(self).with(2u));
  expect((uint32_t), from(uut).to(self).with(2u));
}

SCENARIO("the status tells that a sweep is under way") {
  inject((sweep_atom), from(self).to(uut).with(sweep_atom_v));
  inject((status_atom), from(self).to(uut).with(status_atom_v));
  self->receive([](const actor_report& x) { CHECK_EQ(x.state, "sweeping"); });
  settle();
}

SCENARIO("whoever asks for a sweep sees the error of the store") {
  script->answers.push_back(
    caf::make_error(ec::store_unavailable, "connection refused"));
  auto answer = sweep();
  auto other = sweep();
  settle();
  CHECK_EQ(answer->err, ec::store_unavailable);
  CHECK_EQ(other->err, ec::store_unavailable);
  CHECK(status().last_error.find("connection refused") != std::string::npos);
  AND("a later success clears it") {
    auto later = sweep();
    settle();
    CHECK(later->value == 0u);
    CHECK_EQ(status().last_error, "");
  }
}

SCENARIO("the timer goes on whatever the store answers") {
  for (auto i = 1u; i <= 5; ++i) {
    if (i % 2 == 0)
      script->answers.push_back(caf::make_error(ec::store_unavailable));
    pass(10s);
    CHECK_EQ(script->asked.size(), i);
  }
}

SCENARIO("a boot sweep does not start a second timer") {
  // Halfway, so that a second timer would not fire together with the first.
  pass(5s);
  sweep();
  settle();
  CHECK_EQ(script->asked.size(), 1u);
  for (auto i = 2u; i <= 4; ++i) {
    pass(5s);
    CHECK_EQ(script->asked.size(), i);
    pass(5s);
    CHECK_EQ(script->asked.size(), i);
  }
}

SCENARIO("a store that never answers ends the sweep, not the loop") {
  kill(rescuer);
  settle();
  auto answer = sweep();
  settle();
  CHECK(answer->err);
  pass(10s);
  pass(10s);
  CHECK(!is_dead(uut));
  CHECK_EQ(status().state, "idle");
}

END_FIXTURE_SCOPE()
