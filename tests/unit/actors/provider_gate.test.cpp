// tests/unit/actors/provider_gate.test.cpp -- callers that wait, die and come
// back, and who hears of it.
#define CAF_SUITE actors.provider_gate

#include "actors/provider_gate.hpp"

#include "support/actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

call_report with_effect(lane_effect effect, std::string message) {
  call_report result;
  result.effect = effect;
  result.message = std::move(message);
  return result;
}

struct fixture : test::actor_fixture {
  lane_options options;
  std::shared_ptr<std::vector<lane_report>> told =
    std::make_shared<std::vector<lane_report>>();
  lane_watcher_actor watcher;
  provider_gate_actor uut;
  caf::actor last_holder;

  fixture() {
    options.name = "gemini/image";
    watcher =
      adopt(sys.spawn([log = told]() -> lane_watcher_actor::behavior_type {
        return {[log](const lane_report& x) { log->push_back(x); }};
      }));
    start();
  }

  void start() {
    uut = adopt(sys.spawn<provider_gate_impl>(options, watcher, uint64_t{42}));
    settle();
  }

  // The asker lives on: a permit ends with its holder.
  auto acquire(uint64_t tokens = 0) {
    auto answer = std::make_shared<test::reply<permit_answer>>();
    auto to = uut;
    permit_request what{options.name, tokens};
    auto holder = [=](caf::event_based_actor* self) -> caf::behavior {
      self->request(to, caf::infinite, what)
        .then([answer](permit_answer& x) { answer->value = std::move(x); },
              [answer](caf::error& err) { answer->err = std::move(err); });
      return {[](int) {}};
    };
    last_holder = adopt(sys.spawn(holder));
    settle();
    return answer;
  }

  // One that the test can kill.
  caf::actor hold() {
    acquire();
    return last_holder;
  }

  void end(const test::reply_ptr<permit_answer>& held,
           std::optional<call_report> how) {
    CAF_REQUIRE(held->value && held->value->permit != 0);
    caf::anon_send(
      uut, permit_return{options.name, held->value->permit, std::move(how)});
    settle();
  }

  void call(const call_report& how) {
    end(acquire(), how);
  }

  lane_report report() {
    auto answer = ask<lane_report>(uut, lanes_query{});
    settle();
    CAF_REQUIRE(answer->value.has_value());
    return *answer->value;
  }

  std::vector<lane_state> states() const {
    std::vector<lane_state> result;
    for (const auto& x : *told)
      result.push_back(x.state);
    return result;
  }
};

using states_t = std::vector<lane_state>;

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("one call at a time, in the order of asking") {
  auto first = acquire();
  auto second = acquire();
  auto third = acquire();
  CHECK(first->value.has_value());
  CHECK(second->is_open());
  CHECK(third->is_open());
  end(first, call_report{});
  CHECK(second->value.has_value());
  CHECK(third->is_open());
  CHECK_EQ(report().waiting, 1u);
  CHECK(told->empty());
  CHECK(!sched.has_pending_timeout());
}

SCENARIO("a dead holder's permit goes to the next caller") {
  auto holder = hold();
  auto waiting = acquire();
  CHECK(waiting->is_open());
  kill(holder);
  settle();
  REQUIRE(waiting->value.has_value());
  CHECK_NE(waiting->value->permit, 0u);
  CHECK_EQ(report().in_flight, 1u);
}

SCENARIO("a caller that dies while it waits leaves the queue") {
  auto first = acquire();
  auto waiting = hold();
  auto third = acquire();
  CHECK_EQ(report().waiting, 2u);
  kill(waiting);
  settle();
  CHECK_EQ(report().waiting, 1u);
  end(first, call_report{});
  CHECK(third->value.has_value());
}

SCENARIO("a dead prober is followed by another one") {
  for (auto i = 0; i < 3; ++i)
    call(with_effect(lane_effect::outage, "HTTP 503"));
  auto prober = hold();
  auto second = acquire();
  pass(5s);
  CHECK_EQ(report().in_flight, 1u);
  CHECK(second->is_open());
  kill(prober);
  settle();
  CHECK(second->value.has_value());
  CHECK(report().state == lane_state::probing);
  end(second, call_report{});
  CHECK(report().state == lane_state::open);
}

SCENARIO("the watcher hears of every change, once") {
  call(with_effect(lane_effect::outage, "HTTP 503"));
  call(with_effect(lane_effect::outage, "HTTP 503"));
  CHECK(told->empty());
  call(with_effect(lane_effect::outage, "HTTP 503"));
  CHECK(states() == states_t{lane_state::broken});
  CHECK_EQ(told->back().name, "gemini/image");
  CHECK_EQ(told->back().reason, "HTTP 503");
  CHECK(told->back().opens_in == 5s);
  pass(4999ms);
  CHECK_EQ(told->size(), 1u);
  pass(1ms);
  CHECK(states() == (states_t{lane_state::broken, lane_state::probing}));
  call(call_report{});
  CHECK(
    states()
    == (states_t{lane_state::broken, lane_state::probing, lane_state::open}));
}

SCENARIO("a parked lane opens by itself and answers those who wait") {
  auto limited = call_report{};
  limited.limits.requests = rate_limit{50, 0, 10s};
  call(limited);
  auto waiting = acquire();
  CHECK(waiting->is_open());
  CHECK(states() == states_t{lane_state::parked});
  pass(10s);
  CHECK(waiting->value.has_value());
  CHECK(states() == (states_t{lane_state::parked, lane_state::open}));
}

SCENARIO("a 429 is spread by at most a tenth, and refuses at once") {
  auto slow_down = with_effect(lane_effect::throttle, "429");
  slow_down.delay = 30s;
  call(slow_down);
  auto opens_in = told->back().opens_in;
  REQUIRE(opens_in.has_value());
  CHECK_GE(*opens_in, 30s);
  CHECK_LE(*opens_in, 33s);
  auto answer = acquire();
  REQUIRE(answer->value.has_value());
  CHECK_EQ(answer->value->permit, 0u);
  CHECK(answer->value->delay == opens_in);
}

SCENARIO("a paused lane says why, and opens when it is resumed") {
  call(with_effect(lane_effect::pause, "402: credit balance is too low"));
  auto status = ask<actor_report>(uut, status_atom_v);
  auto refused = acquire();
  CHECK_EQ(status->value->state, "paused");
  CHECK_EQ(status->value->last_error, "402: credit balance is too low");
  REQUIRE(status->value->lane.has_value());
  CHECK(status->value->lane->state == lane_state::paused);
  CHECK_EQ(status->value->lane->calls, 1u);
  CHECK_EQ(refused->value->permit, 0u);
  pass(24h);
  CHECK(report().state == lane_state::paused);
  auto resumed = ask<done>(uut, resume_lane{options.name});
  settle();
  CHECK(resumed->value.has_value());
  CHECK(states() == (states_t{lane_state::paused, lane_state::open}));
  CHECK_NE(acquire()->value->permit, 0u);
}

SCENARIO("a permit of a gate that died means nothing to the next one") {
  auto old = acquire();
  REQUIRE(old->value.has_value());
  kill(uut);
  settle();
  start();
  auto current = acquire();
  CHECK_NE(current->value->permit, old->value->permit);
  end(old, with_effect(lane_effect::pause, "late news"));
  CHECK(report().state == lane_state::open);
  CHECK_EQ(report().in_flight, 1u);
}

SCENARIO("who waits when the gate dies is told so") {
  auto first = acquire();
  auto waiting = acquire();
  kill(uut);
  settle();
  CHECK(!waiting->is_open());
  CHECK(!waiting->value.has_value());
}

END_FIXTURE_SCOPE()
