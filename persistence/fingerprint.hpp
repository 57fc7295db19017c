// persistence/fingerprint.hpp -- what failures have in common that differ only
// in ids, numbers and addresses.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reeve {

/// Longest pattern in code points.
inline constexpr size_t max_pattern_code_points = 300;

/// `message` with what differs from one failure to the next replaced: URLs by
/// `<url>`; IP addresses, with their ports, by `<ip>`; UUIDs, hexadecimal
/// numbers, request ids and quoted ids by `<id>`; other numbers by `<n>`.
/// White space is collapsed, and the end cut off after
/// `max_pattern_code_points`. Takes any bytes.
std::string error_pattern(std::string_view message);

/// The first 16 hexadecimal digits of the pattern's SHA-256.
std::string fingerprint_of(std::string_view message);

} // namespace reeve
