// processors/ai/provider.hpp -- what every call to a provider of AI comes back
// with: a result or a failure, what it cost, and how much more is allowed.
#pragma once

#include "persistence/job.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>

namespace reeve {

/// What a call teaches about its lane, which all jobs share.
enum class lane_effect : uint8_t {
  /// The provider answered; whatever went wrong was this request's.
  none,
  /// 429: nobody calls before the delay has passed.
  throttle,
  /// Unreachable, overloaded or broken: counts towards the breaker.
  outage,
  /// A bad key or spent money: only people can mend it.
  pause,
};

/// A provider's failure in terms of whose fault it was.
struct provider_failure {
  /// `failed`, `failed_permanently`, `throttled`, `provider_down` or
  /// `cancelled`.
  run_outcome kind = run_outcome::failed;
  std::string message;
  /// What the provider asked for (`Retry-After`).
  std::optional<std::chrono::milliseconds> delay;
  lane_effect lane = lane_effect::none;
};

/// A bucket as a provider's headers describe it.
struct rate_limit {
  int64_t limit = 0;
  int64_t remaining = 0;
  /// Until it is full again.
  std::chrono::milliseconds reset{0};

  bool operator==(const rate_limit&) const = default;
};

struct rate_limits {
  std::optional<rate_limit> requests;
  std::optional<rate_limit> input_tokens;
  std::optional<rate_limit> output_tokens;

  bool operator==(const rate_limits&) const = default;
};

/// What a call is made under.
struct call_scope {
  /// Of no trace.
  call_scope(std::stop_token s = {}) // NOLINT: some calls have no more
    : stop(std::move(s)) {
    // nop
  }

  call_scope(std::stop_token s, trace_context t)
    : stop(std::move(s)), trace(std::move(t)) {
    // nop
  }

  /// Breaks the call off.
  std::stop_token stop;
  /// Sent along.
  trace_context trace;
};

template <class T>
struct provider_answer {
  std::variant<T, provider_failure> result;
  /// Also of failed calls, as far as the provider said it.
  usage used;
  rate_limits limits;
  /// What made it, as the provider names it.
  std::string model;

  bool ok() const noexcept {
    return std::holds_alternative<T>(result);
  }
};

/// Who is called, and how much at once. Calls of one lane share limits.
struct lane_key {
  /// E.g. `anthropic`; `local` needs no lane.
  std::string provider;
  std::string model;

  /// `provider/model`, as operators see it; empty for what calls nobody.
  std::string name() const {
    return provider.empty() || provider == "local" ? std::string{}
                                                   : provider + '/' + model;
  }
};

} // namespace reeve
