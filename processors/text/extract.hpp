// processors/text/extract.hpp -- the sentences and words that say most.
#pragma once

#include "processors/text/document.hpp"

#include <string>
#include <vector>

namespace reeve::text {

struct summary_limits {
  size_t sentences = 3;
  size_t code_points = 600;
};

/// The most telling sentences in their order, each as it stands in the text;
/// when not even one fits, as much of the best as does, and an ellipsis. Empty
/// only without sentences.
std::string summarize(const document& text, const summary_limits& limits = {});

/// At most `limit` words the text is about, best first.
std::vector<std::string> keywords(const document& text, size_t limit = 5);

} // namespace reeve::text
