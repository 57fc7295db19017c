// tests/unit/actors/decision.test.cpp -- by whose fault a run ended.
#define CAF_SUITE actors.decision

#include "actors/decision.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <cmath>
#include <limits>

using namespace reeve;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

struct fixture {
  retry_options options;

  static job on_attempt(uint32_t attempts, uint32_t max_attempts = 3) {
    job result;
    result.attempts = attempts;
    result.max_attempts = max_attempts;
    return result;
  }

  // `random` = 0.5 is no jitter at all.
  decision decide(const job& claimed, run_outcome how,
                  std::optional<milliseconds> requested = {}) {
    return reeve::decide(claimed, how, requested, options, 0.5);
  }
};

constexpr auto most = std::numeric_limits<uint64_t>::max();

constexpr run_outcome all_outcomes[] = {
  run_outcome::completed,     run_outcome::failed,
  run_outcome::timed_out,     run_outcome::failed_permanently,
  run_outcome::lost,          run_outcome::throttled,
  run_outcome::provider_down, run_outcome::interrupted,
  run_outcome::snoozed,       run_outcome::cancelled,
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("every outcome has its verdict") {
  using enum run_outcome;
  auto verdict_of = [this](uint32_t attempts, run_outcome how) {
    return decide(on_attempt(attempts), how).what;
  };
  GIVEN("a job with attempts left") {
    CHECK(verdict_of(1, completed) == verdict::complete);
    CHECK(verdict_of(1, cancelled) == verdict::cancel);
    CHECK(verdict_of(1, failed_permanently) == verdict::fail);
    CHECK(verdict_of(1, failed) == verdict::retry);
    CHECK(verdict_of(1, timed_out) == verdict::retry);
    CHECK(verdict_of(1, lost) == verdict::retry);
    CHECK(verdict_of(1, throttled) == verdict::retry_unspent);
    CHECK(verdict_of(1, provider_down) == verdict::retry_unspent);
    CHECK(verdict_of(1, interrupted) == verdict::retry_unspent);
    CHECK(verdict_of(1, snoozed) == verdict::retry_unspent);
  }
  GIVEN("a job in its last attempt") {
    CHECK(verdict_of(3, completed) == verdict::complete);
    CHECK(verdict_of(3, failed) == verdict::fail);
    CHECK(verdict_of(3, timed_out) == verdict::fail);
    CHECK(verdict_of(3, lost) == verdict::fail);
    CHECK(verdict_of(3, throttled) == verdict::retry_unspent);
    CHECK(verdict_of(3, provider_down) == verdict::retry_unspent);
    CHECK(verdict_of(3, interrupted) == verdict::retry_unspent);
    CHECK(verdict_of(3, snoozed) == verdict::retry_unspent);
  }
  GIVEN("any outcome") {
    for (auto how : all_outcomes)
      CHECK(!decide(on_attempt(1), how).why.empty());
  }
}

SCENARIO("a job fails for good in its last attempt, whatever the limit") {
  CHECK(decide(on_attempt(1, 1), run_outcome::failed).what == verdict::fail);
  CHECK(decide(on_attempt(99, 100), run_outcome::failed).what
        == verdict::retry);
  CHECK(decide(on_attempt(100, 100), run_outcome::failed).what
        == verdict::fail);
  CHECK(decide(on_attempt(101, 100), run_outcome::failed).what
        == verdict::fail);
}

SCENARIO("operators can read which attempt led to the decision") {
  auto again = decide(on_attempt(2), run_outcome::failed);
  CHECK_EQ(again.why, "attempt 2 of 3 failed; trying again");
  auto last = decide(on_attempt(3), run_outcome::timed_out);
  CHECK_EQ(last.why, "attempt 3 of 3 timed out; none is left");
}

SCENARIO("each kind of unspent run has its own cap") {
  options.max_unspent = 5;
  GIVEN("a job that was throttled as often as it may be") {
    auto claimed = on_attempt(1);
    claimed.unspent = {.throttled = 5, .provider_down = 4, .interrupted = 4};
    CHECK(decide(claimed, run_outcome::throttled).what == verdict::fail);
    CHECK(decide(claimed, run_outcome::provider_down).what
          == verdict::retry_unspent);
    CHECK(decide(claimed, run_outcome::interrupted).what
          == verdict::retry_unspent);
  }
  GIVEN("a job that reached the other caps") {
    auto claimed = on_attempt(1);
    claimed.unspent = {.throttled = 4, .provider_down = 5, .interrupted = 5};
    CHECK(decide(claimed, run_outcome::throttled).what
          == verdict::retry_unspent);
    CHECK(decide(claimed, run_outcome::provider_down).what == verdict::fail);
    CHECK(decide(claimed, run_outcome::interrupted).what == verdict::fail);
  }
}

SCENARIO("an interrupted job is due again at once") {
  CHECK(decide(on_attempt(1), run_outcome::interrupted).delay == 0ms);
}

SCENARIO("what a provider asks for is a floor, not a ceiling") {
  GIVEN("a first failure with a backoff of 10 s") {
    auto claimed = on_attempt(1);
    for (auto how : {run_outcome::failed, run_outcome::throttled,
                     run_outcome::provider_down}) {
      CHECK(decide(claimed, how).delay == 10s);
      CHECK(decide(claimed, how, 1s).delay == 10s);
      CHECK(decide(claimed, how, 90s).delay == 90s);
    }
  }
  GIVEN("a snooze") {
    CHECK(decide(on_attempt(1), run_outcome::snoozed, 3s).delay == 3s);
  }
  GIVEN("a header beyond reason") {
    auto month = std::chrono::hours{24 * 30};
    CHECK(
      decide(on_attempt(1), run_outcome::throttled, milliseconds::max()).delay
      == month);
    CHECK(decide(on_attempt(1), run_outcome::snoozed, -5s).delay == 0ms);
  }
}

SCENARIO("the backoff triples from ten seconds to ten minutes") {
  CHECK(backoff(0, options, 0.5) == 10s);
  CHECK(backoff(1, options, 0.5) == 10s);
  CHECK(backoff(2, options, 0.5) == 30s);
  CHECK(backoff(3, options, 0.5) == 90s);
  CHECK(backoff(4, options, 0.5) == 270s);
  CHECK(backoff(5, options, 0.5) == 10min);
  CHECK(backoff(most, options, 0.5) == 10min);
  GIVEN("jitter of a quarter") {
    CHECK(backoff(1, options, 0.0) == 7500ms);
    CHECK(backoff(1, options, 1.0) == 12500ms);
    CHECK(backoff(most, options, 1.0) == 750s);
  }
}

SCENARIO("the backoff is monotone and bounded for every n") {
  for (auto random : {0.0, 0.25, 0.5, 0.999999, 1.0}) {
    auto previous = 0ms;
    for (uint64_t n = 1; n < 2'000; ++n) {
      auto now = backoff(n, options, random);
      CHECK(now >= previous);
      previous = now;
    }
    for (uint64_t n = 2'000; n < most / 7; n *= 7) {
      auto now = backoff(n, options, random);
      CHECK(now >= previous);
      CHECK(now <= 750s);
      previous = now;
    }
  }
}

SCENARIO("no setting makes the backoff negative or undefined") {
  constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
  constexpr auto infinity = std::numeric_limits<double>::infinity();
  for (auto base : {0s, 1s, 3600s})
    for (auto factor : {0.0, 1.0, 2.0, 10.0, nan, infinity})
      for (auto random : {0.0, 0.5, 1.0, nan, -1.0, 2.0})
        for (auto n : {uint64_t{0}, uint64_t{1}, uint64_t{2}, most}) {
          options.backoff = base;
          options.factor = factor;
          auto delay = backoff(n, options, random);
          CHECK(delay >= 0ms);
          CHECK(delay <= 750s);
        }
}

SCENARIO("what cannot be computed waits for longest, it does not spin") {
  for (auto factor : {std::numeric_limits<double>::quiet_NaN(),
                      std::numeric_limits<double>::infinity()}) {
    options.factor = factor;
    CHECK(backoff(2, options, 0.5) == 10min);
    CHECK(backoff(most, options, 0.5) == 10min);
  }
}

END_FIXTURE_SCOPE()
