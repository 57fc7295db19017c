// net/address.hpp -- IP addresses, and which of them the public can reach.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

struct sockaddr;

namespace reeve::net {

struct ip_address {
  /// In network order; IPv4 has the first four.
  std::array<uint8_t, 16> bytes{};
  bool is_v6 = false;
};

/// An address in the usual notations: `192.0.2.1`, `2001:db8::1`,
/// `::ffff:192.0.2.1`; no brackets, no zone, no short or octal IPv4.
std::optional<ip_address> parse_address(const std::string& text);

/// None for what is neither IPv4 nor IPv6, or shorter than it should be.
std::optional<ip_address> address_of(const sockaddr* raw, size_t size);

/// True for what IANA's special-purpose registries leave to the public
/// internet. IPv4-mapped, NAT64 (64:ff9b::/96) and 6to4 addresses are as
/// public as the IPv4 address in them. What is in doubt is not public.
bool is_public(const ip_address& x) noexcept;

} // namespace reeve::net
