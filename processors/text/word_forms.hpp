// processors/text/word_forms.hpp -- words without their endings.
#pragma once

#include <string>
#include <string_view>

namespace reeve::text {

/// A folded word without what inflects it: an English plural or possessive
/// ending, or Korean particles when at least two syllables stay. A guess by
/// spelling: no dictionary stands behind it.
std::string base_form(std::string_view word);

/// False for what makes a poor tag: function words, numbers, words of one
/// syllable or two letters, Korean verbs and adjectives by their endings.
bool is_keyword(std::string_view base);

} // namespace reeve::text
