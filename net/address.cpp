// net/address.cpp -- IP addresses, and which of them the public can reach.
#include "net/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace reeve::net {

namespace {

struct range {
  std::array<uint8_t, 16> prefix;
  size_t bits;
};

// IANA's IPv4 special-purpose registry and multicast. The few anycast services
// in 192.0.0.0/24 and the old 6to4 relays are nobody's web server.
constexpr range special_v4[] = {
  {{0}, 8},             // this network
  {{10}, 8},            // private
  {{100, 64}, 10},      // shared by a carrier's customers
  {{127}, 8},           // loopback
  {{169, 254}, 16},     // link-local; clouds keep their metadata here
  {{172, 16}, 12},      // private
  {{192, 0, 0}, 24},    // protocol assignments
  {{192, 0, 2}, 24},    // documentation
  {{192, 88, 99}, 24},  // 6to4 relays
  {{192, 168}, 16},     // private
  {{198, 18}, 15},      // benchmarking
  {{198, 51, 100}, 24}, // documentation
  {{203, 0, 113}, 24},  // documentation
  {{224}, 4},           // multicast
  {{240}, 4},           // reserved, and broadcast
};

// Everything that is assigned to the public is in here ...
constexpr range global_v6 = {{0x20}, 3};

// ... but for these.
constexpr range special_v6[] = {
  {{0x20, 0x01, 0x00}, 23},       // protocol assignments, Teredo, ORCHID
  {{0x20, 0x01, 0x0d, 0xb8}, 32}, // documentation
  {{0x3f, 0xff, 0x00}, 20},       // documentation
};

constexpr range mapped_v4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96};
constexpr range nat64 = {{0x00, 0x64, 0xff, 0x9b}, 96};
constexpr range six_to_four = {{0x20, 0x02}, 16};

bool is_in(const ip_address& x, const range& r) noexcept {
  auto whole = r.bits / 8;
  if (!std::equal(r.prefix.begin(), r.prefix.begin() + whole, x.bytes.begin()))
    return false;
  auto rest = r.bits % 8;
  return rest == 0
    || (x.bytes[whole] >> (8 - rest)) == (r.prefix[whole] >> (8 - rest));
}

ip_address embedded_v4(const ip_address& x, size_t at) noexcept {
  ip_address result;
  std::copy_n(x.bytes.begin() + at, 4, result.bytes.begin());
  return result;
}

} // namespace

std::optional<ip_address> parse_address(const std::string& text) {
  ip_address result;
  // A NUL would end the text early.
  if (text.find('\0') != std::string::npos)
    return std::nullopt;
  if (inet_pton(AF_INET, text.c_str(), result.bytes.data()) == 1)
    return result;
  result = {{}, true};
  if (inet_pton(AF_INET6, text.c_str(), result.bytes.data()) == 1)
    return result;
  return std::nullopt;
}

std::optional<ip_address> address_of(const sockaddr* raw, size_t size) {
  ip_address result;
  if (raw == nullptr || size < sizeof(sa_family_t))
    return std::nullopt;
  if (raw->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in v4{};
    std::memcpy(&v4, raw, sizeof(v4));
    std::memcpy(result.bytes.data(), &v4.sin_addr, 4);
    return result;
  }
  if (raw->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, raw, sizeof(v6));
    std::memcpy(result.bytes.data(), &v6.sin6_addr, 16);
    result.is_v6 = true;
    return result;
  }
  return std::nullopt;
}

bool is_public(const ip_address& x) noexcept {
  auto covers = [&x](const range& r) { return is_in(x, r); };
  if (!x.is_v6)
    return std::none_of(std::begin(special_v4), std::end(special_v4), covers);
  if (covers(mapped_v4) || covers(nat64))
    return is_public(embedded_v4(x, 12));
  if (covers(six_to_four))
    return is_public(embedded_v4(x, 2));
  return covers(global_v6)
    && std::none_of(std::begin(special_v6), std::end(special_v6), covers);
}

} // namespace reeve::net
