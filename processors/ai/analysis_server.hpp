// processors/ai/analysis_server.hpp -- analysis by an HTTP service.
#pragma once

#include "processors/ai/analysis_model.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace reeve {

struct analysis_server_options {
  /// Where the service is; `/analyze` is appended.
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
/// `{"summary": str, "tags": [str], "embedding": [number], "model": str?}`.
///
/// | what happened | failure |
/// |---|---|
/// | no connection, cut off, timeout, 408, 425, 5xx | `provider_down` |
/// | 401, 403, an unusable URL: the operator's to mend | `provider_down` |
/// | 429 | `throttled` |
/// | 3xx and the other 4xx | `failed_permanently` |
/// | an answer of the wrong form, or too large | `failed` |
/// | `stop` fired | `cancelled` |
///
/// A `Retry-After` becomes the delay. Messages name the service by host and
/// port, and contain neither credentials nor the text.
class analysis_server final : public analysis_model {
public:
  explicit analysis_server(analysis_server_options options);

  std::variant<analysis, provider_failure> analyze(
    const scrap& text, std::stop_token stop) override;

private:
  analysis_server_options options_;
  /// `analysis server HOST:PORT`, for messages.
  std::string name_;
};

} // namespace reeve
