// persistence/text.cpp -- UTF-8 checks and repairs with ICU's macros.
#include "persistence/text.hpp"

#include <unicode/utf8.h>

#include <cstdint>

namespace reeve {

namespace {

const uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

// What U8_NEXT yields for an ill-formed sequence is negative.
bool all_code_points(std::string_view text, UChar32 lowest) {
  const auto* bytes = bytes_of(text);
  for (size_t i = 0; i < text.size();) {
    UChar32 code_point = 0;
    U8_NEXT(bytes, i, text.size(), code_point);
    if (code_point < lowest)
      return false;
  }
  return true;
}

} // namespace

bool is_valid_utf8(std::string_view text) {
  return all_code_points(text, 0);
}

bool is_storable(std::string_view text) {
  return all_code_points(text, 1);
}

std::string sanitized(std::string_view text) {
  constexpr std::string_view replacement = "\xEF\xBF\xBD";
  const auto* bytes = bytes_of(text);
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const auto start = i;
    UChar32 code_point = 0;
    U8_NEXT(bytes, i, text.size(), code_point);
    result += code_point > 0 ? text.substr(start, i - start) : replacement;
  }
  return result;
}

std::string_view first_code_points(std::string_view text, size_t limit) {
  const auto* bytes = bytes_of(text);
  size_t i = 0;
  for (size_t n = 0; n < limit && i < text.size(); ++n)
    U8_FWD_1(bytes, i, text.size());
  return text.substr(0, i);
}

std::string truncated(std::string_view text, size_t limit) {
  std::string result{first_code_points(text, limit)};
  if (result.size() < text.size())
    result += "...";
  return result;
}

std::string storable_error(std::string_view text) {
  return truncated(sanitized(text), max_error_code_points);
}

} // namespace reeve
