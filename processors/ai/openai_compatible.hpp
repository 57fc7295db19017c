// processors/ai/openai_compatible.hpp -- texts by a chat completions API.
#pragma once

#include "processors/ai/remote.hpp"
#include "processors/ai/text_model.hpp"

namespace reeve {

struct openai_compatible_options : remote_options {
  openai_compatible_options() {
    url = "http://127.0.0.1:11434";
  }

  /// The most a request may ask for.
  uint32_t max_tokens = 32'768;
};

/// Streams `POST /v1/chat/completions`, as OpenAI and most servers of local
/// models speak it. Without an API key no `Authorization` is sent; a server
/// that does not stream is understood, too. Beyond what
/// processors/ai/http_failure.hpp says:
///
/// - No such model, or 429 with `insufficient_quota`: `provider_down`, lane
///   pause.
/// - The stream ends without a `finish_reason`: `provider_down`, lane outage.
/// - An error within the stream: what its status would be; of none, an outage.
/// - The text was cut at `max_tokens`, or is empty: `failed`.
/// - A refusal, `content_filter`: `failed_permanently`.
///
/// Messages name provider and model, and contain neither the key nor what was
/// asked.
class openai_compatible final : public text_model {
public:
  explicit openai_compatible(openai_compatible_options options);

  lane_key lane() const override;

  provider_answer<std::string> write(
    const text_request& request,
    const std::function<void(std::string_view piece)>& on_text,
    call_scope scope) override;

private:
  openai_compatible_options options_;
  /// For messages.
  std::string name_;
};

} // namespace reeve
