// processors/ai/local_analysis.hpp -- analysis without a model or a network.
#pragma once

#include "processors/ai/analysis_model.hpp"

namespace reeve {

/// How much of a text is analysed, in bytes. What a text is about shows in its
/// first quarter of a megabyte (a short book), and a job must not hold a core
/// for longer than a fraction of a second.
inline constexpr size_t max_analysed_bytes = 256 * 1024;

/// The offline default: picks sentences, counts words and hashes features. It
/// understands nothing, and its `model` says so. Made for English and Korean;
/// other languages get sentences and embeddings, and tags with stop words
/// among them.
class local_analysis final : public analysis_model {
public:
  lane_key lane() const override;
  /// Ends with an analysis, `cancelled`, or `failed_permanently` for a text in
  /// which nothing can be seen; so does `embed`.
  provider_answer<analysis> analyze(const scrap& text,
                                    call_scope scope) override;
  provider_answer<std::vector<float>> embed(const std::string& text,
                                            call_scope scope) override;
};

} // namespace reeve
