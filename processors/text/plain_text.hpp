// processors/text/plain_text.hpp -- looking at UTF-8 code point by code point.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reeve::text {

/// How many code points valid UTF-8 has.
size_t code_points(std::string_view text) noexcept;

/// The longest prefix of at most `bytes` that ends between code points.
std::string_view prefix(std::string_view text, size_t bytes) noexcept;

/// True when nothing in `text` can be seen: white space, control and format
/// characters, U+FFFD.
bool is_blank(std::string_view text) noexcept;

/// In one line: every run of white space and control characters is one space,
/// and there is none at the ends.
std::string one_line(std::string_view text);

/// True when the last visible character ends a sentence, or closes a quotation
/// or a bracket: headings and items of lists do neither.
bool is_terminated(std::string_view text) noexcept;

/// How wide a terminal would show it: Han, Hangul and the like take two.
size_t columns(std::string_view text) noexcept;

} // namespace reeve::text
