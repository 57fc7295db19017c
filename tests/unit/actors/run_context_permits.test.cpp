// tests/unit/actors/run_context_permits.test.cpp -- how a run comes by the
// right to call, and how that goes back.
#define CAF_SUITE actors.run_context_permits

#include "run_context_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace reeve::test;
using namespace std::chrono_literals;

BEGIN_FIXTURE_SCOPE(run_fixture)

// -- permits ------------------------------------------------------------------

SCENARIO("who calls nobody needs no permit") {
  auto result = run([](job_context& context) {
    return outcome::completed(context.acquire("", 1) == nullptr);
  });
  CHECK(result.result == true);
  CHECK_EQ(permit_requests, 0);
}

SCENARIO("a permit goes back with what the call was like") {
  answer_permits(yes());
  auto result = run([](job_context& context) {
    auto permit = context.acquire("text/m", 100);
    call_report report;
    report.effect = lane_effect::throttle;
    report.delay = 9s;
    permit->report(report);
    return outcome::completed({});
  });
  CHECK(result.kind == run_outcome::completed);
  auto back = returned_permit();
  CHECK_EQ(back.lane, "text/m");
  CHECK_EQ(back.permit, 7u);
  REQUIRE(back.how.has_value());
  CHECK(back.how->effect == lane_effect::throttle);
  CHECK(back.how->delay == 9s);
}

SCENARIO("a permit goes back although nobody says how the call was") {
  answer_permits(yes());
  auto result = run([](job_context& context) -> outcome {
    auto permit = context.acquire("text/m", 100);
    throw std::runtime_error("out of luck");
  });
  CHECK(result.kind == run_outcome::failed);
  CHECK(!returned_permit().how);
}

SCENARIO("a call that was broken off teaches the lane nothing") {
  answer_permits(yes());
  auto result = run([this](job_context& context) {
    auto permit = context.acquire("text/m", 100);
    control.request_stop();
    permit->report(call_report{});
    return outcome::cancelled();
  });
  CHECK(result.kind == run_outcome::cancelled);
  CHECK(!returned_permit().how);
}

SCENARIO("a report reaches its lane before the end of the run does") {
  start_gate();
  // The gate hears of the holder's death at once.
  way_to_gate = 100ms;
  auto is_stopped = false;
  auto refused = [&](job_context& context) {
    auto permit = context.acquire("text/m", 100);
    if (is_stopped)
      control.request_stop();
    call_report report;
    report.effect = lane_effect::pause;
    report.message = "401: invalid x-api-key";
    permit->report(report);
    return outcome::provider_down(report.message);
  };
  run(refused);
  CHECK(lane().state == lane_state::paused);
  CHECK_EQ(lane().in_flight, 0u);
  AND("a run that is to stop reports it, too") {
    self->request(gate, 1min, resume_lane{"text/m"})
      .receive([](done) {}, [](const caf::error& err) { CAF_FAIL(err); });
    is_stopped = true;
    run(refused);
    CHECK(lane().state == lane_state::paused);
  }
}

SCENARIO("a no ends the run with its kind and delay") {
  permit_answer no;
  no.kind = run_outcome::throttled;
  no.reason = "text/m takes no calls";
  no.delay = 30s;
  answer_permits(no);
  auto throttled = run(acquire_and_complete);
  CHECK(throttled.kind == run_outcome::throttled);
  CHECK_EQ(throttled.message, "text/m takes no calls");
  CHECK(throttled.delay == 30s);
  no.kind = run_outcome::provider_down;
  no.delay.reset();
  answer_permits(no);
  auto down = run(acquire_and_complete);
  CHECK(down.kind == run_outcome::provider_down);
  CHECK(!down.delay);
}

SCENARIO("a lane that this node does not have fails the run") {
  on_permit = in_turn<permit_answer>({caf::make_error(ec::not_found)});
  auto result = run(acquire_and_complete);
  CHECK(result.kind == run_outcome::failed);
  CHECK(result.message.find("text/m") != std::string::npos);
}

SCENARIO("a gate that is being restarted is asked again") {
  on_permit = in_turn<permit_answer>(
    {away(), caf::make_error(caf::sec::broken_promise), yes()});
  CHECK(run(acquire_and_complete).kind == run_outcome::completed);
  CHECK_EQ(permit_requests, 3);
}

SCENARIO("a cancelled run gives up its place in the queue at once") {
  start_gate();
  self->request(gate, 1min, permit_request{"text/m", 0})
    .receive([](const permit_answer& x) { CAF_CHECK_NOT_EQUAL(x.permit, 0u); },
             [](const caf::error& err) { CAF_FAIL(err); });
  auto end = start(acquire_and_complete);
  wait_for_lane([](const lane_report& x) { return x.waiting == 1; });
  control.request_stop();
  CHECK(end_of(end, 1s).kind == run_outcome::cancelled);
  wait_for_lane([](const lane_report& x) { return x.waiting == 0; });
  CHECK_EQ(lane().in_flight, 1u);
}

END_FIXTURE_SCOPE()
