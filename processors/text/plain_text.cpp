// processors/text/plain_text.cpp -- looking at UTF-8 code point by code point.
#include "processors/text/plain_text.hpp"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <cstdint>

namespace reeve::text {

namespace {

// Calls `f(code point, its bytes)` until it returns false. An ill-formed
// sequence is U+FFFD.
template <class F>
void for_each_code_point(std::string_view text, F f) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  for (size_t i = 0; i < text.size();) {
    const auto start = i;
    UChar32 code_point = 0;
    U8_NEXT_OR_FFFD(bytes, i, text.size(), code_point);
    if (!f(code_point, text.substr(start, i - start)))
      return;
  }
}

bool is_space(UChar32 code_point) {
  return u_isUWhiteSpace(code_point)
    || u_charType(code_point) == U_CONTROL_CHAR;
}

bool is_visible(UChar32 code_point) {
  return !is_space(code_point) && code_point != 0xFFFD
    && u_charType(code_point) != U_FORMAT_CHAR
    && !u_hasBinaryProperty(code_point, UCHAR_DEFAULT_IGNORABLE_CODE_POINT);
}

} // namespace

size_t code_points(std::string_view text) noexcept {
  size_t result = 0;
  for_each_code_point(text, [&result](UChar32, std::string_view) {
    ++result;
    return true;
  });
  return result;
}

std::string_view prefix(std::string_view text, size_t bytes) noexcept {
  if (text.size() <= bytes)
    return text;
  while (bytes > 0 && U8_IS_TRAIL(static_cast<uint8_t>(text[bytes])))
    --bytes;
  return text.substr(0, bytes);
}

bool is_blank(std::string_view text) noexcept {
  auto result = true;
  for_each_code_point(text, [&result](UChar32 code_point, std::string_view) {
    return result = !is_visible(code_point);
  });
  return result;
}

std::string one_line(std::string_view text) {
  std::string result;
  auto pending = false;
  for_each_code_point(text, [&](UChar32 code_point, std::string_view bytes) {
    if (is_space(code_point)) {
      pending = !result.empty();
      return true;
    }
    if (pending)
      result += ' ';
    pending = false;
    result += bytes;
    return true;
  });
  return result;
}

bool is_terminated(std::string_view text) noexcept {
  auto result = false;
  for_each_code_point(text, [&result](UChar32 code_point, std::string_view) {
    if (!is_visible(code_point))
      return true;
    auto type = u_charType(code_point);
    result = u_hasBinaryProperty(code_point, UCHAR_S_TERM)
      || type == U_END_PUNCTUATION || type == U_FINAL_PUNCTUATION
      || code_point == '"' || code_point == 0x2026;
    return true;
  });
  return result;
}

size_t columns(std::string_view text) noexcept {
  size_t result = 0;
  for_each_code_point(text, [&result](UChar32 code_point, std::string_view) {
    auto width = u_getIntPropertyValue(code_point, UCHAR_EAST_ASIAN_WIDTH);
    result += width == U_EA_WIDE || width == U_EA_FULLWIDTH ? 2 : 1;
    return true;
  });
  return result;
}

} // namespace reeve::text
