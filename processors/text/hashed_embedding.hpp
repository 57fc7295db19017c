// processors/text/hashed_embedding.hpp -- a text as a point in space, without
// a model.
#pragma once

#include "processors/text/document.hpp"

#include <stop_token>
#include <string_view>
#include <vector>

namespace reeve::text {

inline constexpr size_t embedding_dimension = 256;

/// Feature hashing (Weinberger et al., 2009) of base forms and of character
/// trigrams, of length 1: the cosine of two texts grows with the words and
/// parts of words they share, and knows no synonyms. The same words give the
/// same numbers on every machine: all sums are of integers. `raw` is what was
/// split, for texts without a word in them, such as emoji. Incomplete once
/// `stop` fires.
std::vector<float> hashed_embedding(const document& text, std::string_view raw,
                                    const std::stop_token& stop);

} // namespace reeve::text
