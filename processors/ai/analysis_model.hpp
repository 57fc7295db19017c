// processors/ai/analysis_model.hpp -- who turns a text into a knowledge card.
#pragma once

#include "persistence/cards.hpp"
#include "processors/ai/provider.hpp"

#include <string>
#include <vector>

namespace reeve {

struct analysis {
  std::string summary;
  std::vector<std::string> tags;
  std::vector<float> embedding;
  /// What made it, as stored on the card.
  std::string model;
};

/// Thread-safe.
class analysis_model {
public:
  virtual ~analysis_model() = default;

  virtual lane_key lane() const = 0;

  /// Blocks until the answer is there or `scope` is broken off.
  virtual provider_answer<analysis> analyze(const scrap& text,
                                            call_scope scope) = 0;

  /// The embedding of a short text, such that it can be compared with those of
  /// cards. Blocks as `analyze` does.
  virtual provider_answer<std::vector<float>> embed(const std::string& text,
                                                    call_scope scope) = 0;
};

} // namespace reeve
