// net/text.cpp -- checks on bytes that came from outside, without a locale.
#include "net/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace reeve::net {

namespace {

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

constexpr auto token_chars = [] {
  std::array<bool, 256> result{};
  for (auto c : std::string_view{"!#$%&'*+-.^_`|~"})
    result[static_cast<unsigned char>(c)] = true;
  for (unsigned char c = '0'; c <= '9'; ++c)
    result[c] = true;
  for (unsigned char c = 'a'; c <= 'z'; ++c)
    result[c] = result[c - 'a' + 'A'] = true;
  return result;
}();

// What the lead byte of a sequence says: its length and the range of the byte
// behind it, which is where overlong forms and surrogates are told (Unicode,
// table 3-7).
struct lead {
  size_t length;
  unsigned char low;
  unsigned char high;
};

// How many bytes at the front are ASCII, eight at a time.
size_t ascii_prefix(std::string_view text) noexcept {
  constexpr uint64_t high_bits = 0x8080808080808080;
  size_t i = 0;
  for (uint64_t word = 0; text.size() - i >= sizeof(word); i += sizeof(word)) {
    std::memcpy(&word, text.data() + i, sizeof(word));
    if ((word & high_bits) != 0)
      break;
  }
  while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x80)
    ++i;
  return i;
}

lead classify(unsigned char c) noexcept {
  if (c >= 0xc2 && c <= 0xdf)
    return {2, 0x80, 0xbf};
  if (c == 0xe0)
    return {3, 0xa0, 0xbf};
  if (c == 0xed)
    return {3, 0x80, 0x9f};
  if (c >= 0xe1 && c <= 0xef)
    return {3, 0x80, 0xbf};
  if (c == 0xf0)
    return {4, 0x90, 0xbf};
  if (c >= 0xf1 && c <= 0xf3)
    return {4, 0x80, 0xbf};
  if (c == 0xf4)
    return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

} // namespace

size_t invalid_utf8(std::string_view text) noexcept {
  auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  size_t i = 0;
  while (i < text.size()) {
    i += ascii_prefix(text.substr(i));
    if (i == text.size())
      break;
    auto [length, low, high] = classify(byte(i));
    if (length == 0 || text.size() - i < length || byte(i + 1) < low
        || byte(i + 1) > high)
      return i;
    for (size_t k = 2; k < length; ++k)
      if ((byte(i + k) & 0xc0) != 0x80)
        return i;
    i += length;
  }
  return std::string_view::npos;
}

bool is_token_char(char c) noexcept {
  return token_chars[static_cast<unsigned char>(c)];
}

bool is_token(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool is_digits(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

bool is_field_value(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) {
    auto u = static_cast<unsigned char>(c);
    return u == '\t' || (u >= 0x20 && u != 0x7f);
  });
}

std::string_view trim(std::string_view text) noexcept {
  auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos)
    return {};
  auto last = text.find_last_not_of(" \t");
  return text.substr(first, last - first + 1);
}

std::string to_lower(std::string_view text) {
  std::string result{text};
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

bool iequals(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

} // namespace reeve::net
