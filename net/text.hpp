// net/text.hpp -- checks on bytes that came from outside, without a locale.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reeve::net {

/// Where `text` stops being UTF-8 (overlong forms and surrogates are not);
/// npos when all of it is.
size_t invalid_utf8(std::string_view text) noexcept;

/// `tchar` of RFC 9110, section 5.6.2.
bool is_token_char(char c) noexcept;

/// True for a non-empty run of token characters.
bool is_token(std::string_view text) noexcept;

/// True for non-empty decimal digits only: no sign, no space.
bool is_digits(std::string_view text) noexcept;

/// True for a field value that cannot end its line: no control characters but
/// tab.
bool is_field_value(std::string_view text) noexcept;

/// Without spaces and tabs at both ends.
std::string_view trim(std::string_view text) noexcept;

/// ASCII letters only.
std::string to_lower(std::string_view text);

/// Equal but for the case of ASCII letters.
bool iequals(std::string_view a, std::string_view b) noexcept;

} // namespace reeve::net
