// net/base64.cpp -- base64 (RFC 4648, section 4), strictly.
#include "net/base64.hpp"

#include <array>
#include <cstdint>

namespace reeve::net {

namespace {

constexpr int8_t no_digit = -1;

constexpr auto digits = [] {
  constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<int8_t, 256> result{};
  result.fill(no_digit);
  for (size_t i = 0; i < alphabet.size(); ++i)
    result[static_cast<uint8_t>(alphabet[i])] = static_cast<int8_t>(i);
  return result;
}();

} // namespace

std::optional<std::string> base64_decoded(std::string_view text) {
  if (text.size() % 4 != 0)
    return std::nullopt;
  auto padding = text.ends_with("==") ? 2u : text.ends_with('=') ? 1u : 0u;
  text.remove_suffix(padding);
  std::string result;
  result.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  unsigned count = 0;
  for (auto c : text) {
    auto digit = digits[static_cast<uint8_t>(c)];
    if (digit == no_digit)
      return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      result += static_cast<char>(bits >> count & 0xff);
      bits &= (1u << count) - 1;
    }
  }
  if (bits != 0)
    return std::nullopt;
  return result;
}

} // namespace reeve::net
