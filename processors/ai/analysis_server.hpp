// processors/ai/analysis_server.hpp -- analysis by an HTTP service.
#pragma once

#include "processors/ai/analysis_model.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace reeve {

struct analysis_server_options {
  /// Where the service is; `/analyze` or `/embed` is appended.
  std::string url = "http://127.0.0.1:8000";
  /// Sent as `Authorization: Bearer …` unless empty.
  std::string api_key;
  std::chrono::milliseconds connect_timeout{5'000};
  /// From the request to the last byte of the answer.
  std::chrono::milliseconds total_timeout{120'000};
  /// A longer answer is a failure.
  size_t max_response_bytes = 8 * 1024 * 1024;
};

/// Client of an analysis service such as examples/ai-server. It POSTs
/// `{"text", "title"?, "url"?}` to `/analyze` and expects
/// `{"summary": str, "tags": [str], "embedding": [number], "model": str?}`,
/// and `{"text"}` to `/embed` and expects `{"embedding", "model"?}`. Both may
/// say what it cost: `"usage": {"input_tokens", "output_tokens"}`.
///
/// Failures are those of processors/ai/http_failure.hpp; an answer of the
/// wrong form is `failed`. Messages name the service by host and port, and
/// contain neither credentials nor the text.
class analysis_server final : public analysis_model {
public:
  explicit analysis_server(analysis_server_options options);

  /// `analysis-server/HOST:PORT`.
  lane_key lane() const override;
  provider_answer<analysis> analyze(const scrap& text,
                                    call_scope scope) override;
  provider_answer<std::vector<float>> embed(const std::string& text,
                                            call_scope scope) override;

private:
  std::variant<nlohmann::json, provider_failure> ask(
    std::string_view path, const nlohmann::json& body,
    std::initializer_list<std::string_view> secrets, call_scope scope);

  analysis_server_options options_;
  std::string authority_;
  /// `analysis server HOST:PORT`, for messages.
  std::string name_;
};

} // namespace reeve
