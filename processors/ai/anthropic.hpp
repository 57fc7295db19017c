// processors/ai/anthropic.hpp -- texts by Anthropic's Messages API.
#pragma once

#include "processors/ai/remote.hpp"
#include "processors/ai/text_model.hpp"

namespace reeve {

struct anthropic_options : remote_options {
  anthropic_options() {
    url = "https://api.anthropic.com";
    model = "claude-sonnet-4-5";
  }

  /// The most a request may ask for.
  uint32_t max_tokens = 32'768;
};

/// Streams `POST /v1/messages` of version 2023-06-01. Beyond what
/// processors/ai/http_failure.hpp says:
///
/// - The key, the permission, the money or the model is missing:
///   `provider_down`, lane pause.
/// - `overloaded_error`, `api_error`, `timeout_error`, also within a stream:
///   `provider_down`, lane outage.
/// - `rate_limit_error`, also within a stream: `throttled`, lane throttle.
/// - The stream ends without `message_stop`: `provider_down`, lane outage.
/// - The text was cut at `max_tokens`, or is empty: `failed`.
/// - A refusal: `failed_permanently`.
///
/// Messages name provider and model, and contain neither the key nor what was
/// asked.
class anthropic final : public text_model {
public:
  explicit anthropic(anthropic_options options);

  lane_key lane() const override;

  provider_answer<std::string> write(
    const text_request& request,
    const std::function<void(std::string_view piece)>& on_text,
    call_scope scope) override;

private:
  anthropic_options options_;
  /// For messages.
  std::string name_;
};

} // namespace reeve
