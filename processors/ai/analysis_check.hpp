// processors/ai/analysis_check.hpp -- whether a provider's analysis makes a
// card.
#pragma once

#include "processors/ai/analysis_model.hpp"

#include <string>
#include <variant>

namespace reeve {

inline constexpr size_t max_summary_code_points = 10'000;
inline constexpr size_t max_tags = 20;
inline constexpr size_t max_tag_code_points = 100;
inline constexpr size_t max_model_code_points = 200;
inline constexpr size_t max_embedding_dimension = 4'096;

/// Why an analysis makes no card, as the end of a sentence that starts with
/// `the analysis`.
struct unacceptable {
  std::string why;
};

/// The analysis as it may be stored: every text sanitized and trimmed, tags in
/// one line, without empty and repeated ones, the first `max_tags` of them.
std::variant<analysis, unacceptable> accepted(analysis x);

} // namespace reeve
