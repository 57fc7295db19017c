// cli/cells.hpp -- texts as a terminal shows them: how wide they are, and
// without what would do more than being shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reeve {

/// `text` on one line, in valid UTF-8, with nothing a terminal would obey. Line
/// breaks and tabs become spaces; other control characters, escape sequences'
/// first byte among them, marks that change the direction of writing, and
/// ill-formed bytes become U+FFFD. Of marks that stack on one character, a few
/// are kept.
std::string harmless(std::string_view text);

/// The same JSON text, with every character of that kind written as \uXXXX.
/// JSON escapes the others itself.
std::string harmless_json(std::string_view text);

/// How many cells of a terminal `text` takes: 2 for a wide character, 0 for a
/// mark on another. `text` is what `harmless` gave.
size_t cells(std::string_view text);

/// What of `text` fits into `most` cells; a cut one ends in "…".
std::string cut_to(std::string_view text, size_t most);

/// `cut_to`, filled up with spaces behind the text, or before it.
std::string fitted(std::string_view text, size_t width, bool right = false);

} // namespace reeve
