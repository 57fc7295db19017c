// cli/cells.cpp -- texts as a terminal shows them.
#include "cli/cells.hpp"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <cstdint>
#include <cstdio>

namespace reeve {

namespace {

constexpr UChar32 replacement = 0xFFFD;

/// Marks on one character; more would grow over the lines above.
constexpr int most_marks = 4;

constexpr UChar32 zero_width_non_joiner = 0x200C;
constexpr UChar32 zero_width_joiner = 0x200D;

/// Calls `f(code_point, its bytes)`; ill-formed bytes have a negative one.
template <class F>
void each_code_point(std::string_view text, F f) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  const auto size = static_cast<int64_t>(text.size());
  for (int64_t i = 0; i < size;) {
    const auto start = i;
    UChar32 c;
    U8_NEXT(bytes, i, size, c);
    if (!f(c,
           text.substr(static_cast<size_t>(start),
                       static_cast<size_t>(i - start))))
      return;
  }
}

bool is_joiner(UChar32 c) {
  return c == zero_width_non_joiner || c == zero_width_joiner;
}

bool is_space_like(UChar32 c) {
  auto type = u_charType(c);
  return c == '\n' || c == '\t' || c == '\r' || type == U_LINE_SEPARATOR
    || type == U_PARAGRAPH_SEPARATOR;
}

// What a terminal may obey, or what shows other texts than there are.
bool is_dangerous(UChar32 c) {
  if (c < 0)
    return true;
  auto type = u_charType(c);
  return type == U_CONTROL_CHAR || type == U_SURROGATE
    || (type == U_FORMAT_CHAR && !is_joiner(c));
}

size_t width_of(UChar32 c) {
  auto type = u_charType(c);
  if (type == U_NON_SPACING_MARK || type == U_ENCLOSING_MARK
      || type == U_FORMAT_CHAR)
    return 0;
  // Vowels and final consonants of Hangul join the syllable before them.
  if (c >= 0x1160 && c <= 0x11FF)
    return 0;
  auto width = u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH);
  return width == U_EA_WIDE || width == U_EA_FULLWIDTH ? 2 : 1;
}

void append(std::string& out, UChar32 c) {
  char bytes[U8_MAX_LENGTH];
  int32_t size = 0;
  U8_APPEND_UNSAFE(bytes, size, c);
  out.append(bytes, static_cast<size_t>(size));
}

void append_escaped(std::string& out, UChar32 c) {
  char text[16];
  if (c > 0xFFFF)
    std::snprintf(text, sizeof(text), "\\u%04x\\u%04x",
                  static_cast<unsigned>(0xD7C0 + (c >> 10)),
                  static_cast<unsigned>(0xDC00 + (c & 0x3FF)));
  else
    std::snprintf(text, sizeof(text), "\\u%04x", static_cast<unsigned>(c));
  out += text;
}

} // namespace

std::string harmless(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  int marks = 0;
  each_code_point(text, [&](UChar32 c, std::string_view bytes) {
    if (c >= 0 && is_space_like(c)) {
      result += ' ';
      marks = 0;
    } else if (is_dangerous(c)) {
      append(result, replacement);
      marks = 0;
    } else {
      marks = width_of(c) == 0 ? marks + 1 : 0;
      if (marks <= most_marks)
        result += bytes;
    }
    return true;
  });
  return result;
}

std::string harmless_json(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  each_code_point(text, [&](UChar32 c, std::string_view bytes) {
    // Between values there may be line breaks and tabs.
    if (c == '\n' || c == '\r' || c == '\t')
      result += bytes;
    else if (c < 0)
      append(result, replacement);
    else if (is_dangerous(c) || (c > 0x7F && is_space_like(c)))
      append_escaped(result, c);
    else
      result += bytes;
    return true;
  });
  return result;
}

size_t cells(std::string_view text) {
  size_t result = 0;
  each_code_point(text, [&](UChar32 c, std::string_view) {
    result += c < 0 ? 1 : width_of(c);
    return true;
  });
  return result;
}

std::string cut_to(std::string_view text, size_t most) {
  if (cells(text) <= most)
    return std::string{text};
  if (most == 0)
    return {};
  std::string result;
  size_t used = 0;
  each_code_point(text, [&](UChar32 c, std::string_view bytes) {
    auto width = c < 0 ? 1 : width_of(c);
    if (used + width > most - 1)
      return false;
    used += width;
    result += bytes;
    return true;
  });
  return result + "…";
}

std::string fitted(std::string_view text, size_t width, bool right) {
  auto result = cut_to(text, width);
  auto used = cells(result);
  std::string space(width > used ? width - used : 0, ' ');
  return right ? space + result : result + space;
}

} // namespace reeve
