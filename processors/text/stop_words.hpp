// processors/text/stop_words.hpp -- words that say nothing about a text.
#pragma once

#include <string_view>

namespace reeve::text {

/// True for the commonest function words of English and Korean. Expects a
/// folded word.
bool is_stop_word(std::string_view word);

} // namespace reeve::text
