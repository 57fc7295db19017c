// processors/ai/gemini.hpp -- pictures by Google's Gemini API.
#pragma once

#include "processors/ai/image_model.hpp"
#include "processors/ai/remote.hpp"

namespace reeve {

struct gemini_options : remote_options {
  gemini_options() {
    url = "https://generativelanguage.googleapis.com";
    model = "gemini-2.5-flash-image";
    // A picture comes at once, after all of it was drawn.
    idle_timeout = std::chrono::milliseconds{180'000};
    total_timeout = std::chrono::milliseconds{300'000};
    // Base64 of a picture of about 20 MB.
    max_response_bytes = 32 * 1024 * 1024;
  }
};

/// Calls `POST /v1beta/models/{model}:generateContent`. Beyond what
/// processors/ai/http_failure.hpp says:
///
/// - The key, the permission or the model is missing: `provider_down`, lane
///   pause.
/// - 429: `throttled`, lane throttle; the delay is the longer one of
///   `retryDelay` and `Retry-After`.
/// - The prompt or the picture was blocked: `failed_permanently`.
/// - No picture, or bytes that are none, or of another type than declared:
///   `failed`.
///
/// Only PNG, JPEG and WebP come out. Messages name provider and model, and
/// contain neither the key nor what was asked.
class gemini final : public image_model {
public:
  explicit gemini(gemini_options options);

  lane_key lane() const override;

  provider_answer<image> draw(const image_request& request,
                              call_scope scope) override;

private:
  provider_answer<image> answer_of(const nlohmann::json& json) const;

  gemini_options options_;
  /// Without `models/` in front.
  std::string model_;
  /// For messages.
  std::string name_;
};

} // namespace reeve
