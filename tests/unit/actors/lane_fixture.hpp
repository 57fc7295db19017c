// tests/unit/actors/lane_fixture.hpp -- a lane and a virtual clock.
#pragma once

#include "actors/lane.hpp"

#include <caf/test/dsl.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reeve::test {

using namespace std::chrono_literals;

using time_point = lane::time_point;

inline call_report answered() {
  return {};
}

inline call_report outage(std::string message = "connection refused") {
  call_report result;
  result.effect = lane_effect::outage;
  result.message = std::move(message);
  return result;
}

inline call_report throttled(std::optional<std::chrono::milliseconds> delay) {
  call_report result;
  result.effect = lane_effect::throttle;
  result.message = "429";
  result.delay = delay;
  return result;
}

inline call_report limited_requests(int64_t remaining,
                                    std::chrono::milliseconds reset) {
  call_report result;
  result.limits.requests = rate_limit{50, remaining, reset};
  return result;
}

inline call_report limited_tokens(int64_t remaining,
                                  std::chrono::milliseconds reset) {
  call_report result;
  result.limits.input_tokens = rate_limit{1'000, remaining, reset};
  return result;
}

struct lane_fixture {
  lane_options options;
  std::optional<lane> uut;
  time_point now{1h};
  double random = 0.0;

  lane_fixture() {
    options.name = "anthropic/claude";
    options.concurrency = 2;
    options.gate.breaker_failures = 3;
    options.gate.breaker_delay = 5s;
    options.gate.breaker_max_delay = 60s;
    options.gate.throttle_delay = 10s;
    options.gate.longest_wait = 15s;
    start();
  }

  void start() {
    uut.emplace(options, 1);
  }

  // What became of one more caller: its answer, or nothing while it waits.
  std::optional<permit_answer> ask(uint64_t tokens = 0) {
    last_ticket = uut->ask(tokens);
    for (auto& x : uut->advance(now))
      if (x.ticket == last_ticket)
        return x.answer;
    return std::nullopt;
  }

  bool is_granted(uint64_t tokens = 0) {
    auto answer = ask(tokens);
    return answer && answer->permit == last_ticket;
  }

  // Tickets that got a permit by now.
  std::vector<uint64_t> granted() {
    std::vector<uint64_t> result;
    for (auto& x : uut->advance(now))
      if (x.answer.permit != 0)
        result.push_back(x.ticket);
    return result;
  }

  void end(uint64_t ticket, const std::optional<call_report>& how) {
    uut->give_back(ticket, how, now, random);
  }

  // One call from its permit to its end.
  void call(const call_report& how) {
    CAF_REQUIRE(is_granted());
    end(last_ticket, how);
  }

  void break_it() {
    for (auto i = 0; i < 3; ++i)
      call(outage());
  }

  lane_state state() {
    return uut->state(now);
  }

  uint64_t last_ticket = 0;
};

using tickets = std::vector<uint64_t>;

} // namespace reeve::test
