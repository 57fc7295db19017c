// persistence/text.hpp -- what texts may look like before they are stored.
#pragma once

#include <string>
#include <string_view>

namespace reeve {

/// Longest stored error in code points; a longer one ends in `...`.
inline constexpr size_t max_error_code_points = 1'000;

/// True for well-formed UTF-8 (RFC 3629: no surrogates, nothing overlong).
bool is_valid_utf8(std::string_view text);

/// True for text both stores can keep and give back byte for byte: valid
/// UTF-8 without U+0000, which PostgreSQL's text and jsonb refuse.
bool is_storable(std::string_view text);

/// Replaces ill-formed sequences and U+0000 by U+FFFD. Cannot fail.
std::string sanitized(std::string_view text);

/// The first `limit` code points of valid UTF-8, a part of `text`.
std::string_view first_code_points(std::string_view text, size_t limit);

/// Keeps the first `limit` code points of valid UTF-8 and appends `...` when
/// something was cut.
std::string truncated(std::string_view text, size_t limit);

/// `truncated(sanitized(text), max_error_code_points)`.
std::string storable_error(std::string_view text);

} // namespace reeve
