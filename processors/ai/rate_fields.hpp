// processors/ai/rate_fields.hpp -- the rate limits in providers' responses.
#pragma once

#include "net/http.hpp"
#include "processors/ai/provider.hpp"

#include <chrono>
#include <optional>
#include <string_view>

namespace reeve {

/// `anthropic-ratelimit-{requests,input-tokens,output-tokens}-{limit,
/// remaining,reset}`, the reset as an RFC 3339 instant; where there is nothing
/// about input tokens, what there is about tokens.
rate_limits anthropic_limits(const net::http_response& response,
                             std::chrono::system_clock::time_point now);

/// `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, the reset as a
/// duration. Tokens are counted with those of the input.
rate_limits openai_limits(const net::http_response& response);

/// A duration such as `6m0s`, `1h2m`, `20ms`, `1.5s`; a bare number is seconds.
/// None when malformed. At most 24 h.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

/// An RFC 3339 instant to the millisecond; none when malformed.
std::optional<std::chrono::system_clock::time_point> parse_instant(
  std::string_view text);

} // namespace reeve
