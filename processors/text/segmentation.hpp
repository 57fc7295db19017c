// processors/text/segmentation.hpp -- sentences and words by Unicode's rules.
#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace reeve::text {

struct sentence {
  /// As in the text, but in one line.
  std::string text;
  /// In order, compatibility-composed and case-folded; no punctuation.
  std::vector<std::string> words;
};

/// Splits valid UTF-8 into sentences. A line break ends a sentence unless the
/// line was only wrapped. What follows from where ICU finds words in Chinese,
/// Japanese or Thai depends on its dictionaries, hence its version. Returns
/// early, with less than all, once `stop` fires.
std::vector<sentence> split(std::string_view text, const std::stop_token& stop);

/// At most `limit` code points of a longer line: up to the end of a word, if
/// one ends in there, then an ellipsis.
std::string cut_at_word(std::string_view line, size_t limit);

} // namespace reeve::text
