// processors/ai/anthropic_stream.cpp -- the events of the Messages API.
#include "processors/ai/anthropic_stream.hpp"

#include "processors/ai/http_failure.hpp"
#include "processors/ai/remote.hpp"

#include <algorithm>

namespace reeve {

namespace {

// Spent money comes as an invalid request or as a rate limit, too.
bool is_about_money(const anthropic_error& err) {
  auto says = [&err](std::string_view part) {
    return err.message.find(part) != std::string::npos;
  };
  return err.type == "billing_error" || says("credit balance is too low")
    || says("specified API usage limits") || says("spend limit");
}

} // namespace

std::optional<provider_failure> failure_of(const anthropic_error& err,
                                           const std::string& name,
                                           const std::string& detail) {
  auto kind = err.type
    + (err.status == 0 ? std::string{} : ", " + status_text(err.status));
  auto more = " (" + kind + ")" + (detail.empty() ? "" : ": " + detail);
  if (is_about_money(err))
    return paused("The " + name + " wants to be paid" + more);
  if (err.type == "authentication_error" || err.type == "permission_error")
    return paused("The " + name + " refused our credentials (" + kind
                  + "); check the configured API key");
  if (err.type == "not_found_error")
    return paused("The " + name + " is not known there" + more);
  if (err.type == "rate_limit_error")
    return provider_failure{run_outcome::throttled,
                            "The " + name + " asks for fewer requests (" + kind
                              + ")",
                            {},
                            lane_effect::throttle};
  if (err.type == "overloaded_error" || err.type == "api_error"
      || err.type == "timeout_error")
    return provider_failure{run_outcome::provider_down,
                            "The " + name + " is not available (" + kind + ")",
                            {},
                            lane_effect::outage};
  if (err.type == "invalid_request_error" || err.type == "request_too_large")
    return provider_failure{run_outcome::failed_permanently,
                            "The " + name + " refused the request" + more,
                            {},
                            lane_effect::none};
  return std::nullopt;
}

bool anthropic_stream::feed(std::string_view bytes) {
  auto more = parser_.feed(
    bytes, [this](const net::stream_event& event) { return take(event); });
  if (parser_.too_large())
    nonsense_ = "has an event that is too large";
  return more;
}

bool anthropic_stream::take(const net::stream_event& event) {
  nlohmann::json json;
  try {
    json = net::parse_json(event.data, {.depth = 32, .elements = 20'000});
  } catch (const net::json_error&) {
    nonsense_ = "has an event that is no usable JSON";
    return false;
  }
  // The type is in the data, too; some relays drop the names of events.
  auto type = text_member(json, "type");
  if (type == "message_start") {
    const auto& message = member(json, "message");
    model_ = text_member(message, "model");
    take_usage(member(message, "usage"));
  } else if (type == "content_block_delta") {
    const auto& delta = member(json, "delta");
    if (text_member(delta, "type") != "text_delta")
      return true;
    auto piece = text_member(delta, "text");
    text_ += piece;
    if (on_text_ && !piece.empty())
      on_text_(piece);
  } else if (type == "message_delta") {
    auto reason = text_member(member(json, "delta"), "stop_reason");
    if (!reason.empty())
      stop_reason_ = reason;
    take_usage(member(json, "usage"));
  } else if (type == "message_stop") {
    finished_ = true;
  } else if (type == "error") {
    const auto& err = member(json, "error");
    error_ = {text_member(err, "type"), text_member(err, "message")};
    return false;
  }
  // `ping`, blocks' starts and stops, and whatever is added one day.
  return true;
}

// Counts are of the whole message so far, not of the event.
void anthropic_stream::take_usage(const nlohmann::json& x) {
  auto input = count_member(x, "input_tokens")
    + count_member(x, "cache_creation_input_tokens")
    + count_member(x, "cache_read_input_tokens");
  used_.input_tokens = std::max(used_.input_tokens, input);
  used_.output_tokens =
    std::max(used_.output_tokens, count_member(x, "output_tokens"));
}

} // namespace reeve
