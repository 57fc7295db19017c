// processors/ai/analysis_model.hpp -- who turns a text into a knowledge card.
#pragma once

#include "persistence/job.hpp"

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

namespace reeve {

struct analysis {
  std::string summary;
  std::vector<std::string> tags;
  std::vector<float> embedding;
  /// What made it, as stored on the card.
  std::string model;
};

/// A provider's failure in terms of whose fault it was.
struct provider_failure {
  /// `failed`, `failed_permanently`, `throttled`, `provider_down` or
  /// `cancelled`.
  run_outcome kind = run_outcome::failed;
  std::string message;
  /// What the provider asked for (`Retry-After`).
  std::optional<std::chrono::milliseconds> delay;
};

/// Thread-safe.
class analysis_model {
public:
  virtual ~analysis_model() = default;

  /// Blocks until the answer is there or `stop` fires.
  virtual std::variant<analysis, provider_failure> analyze(
    const scrap& text, std::stop_token stop) = 0;
};

} // namespace reeve
