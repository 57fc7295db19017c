// tests/unit/net/address.test.cpp -- which addresses are public, in all their
// spellings.
#define CAF_SUITE net.address

#include "net/address.hpp"

#include <caf/test/dsl.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

using namespace reeve::net;
using namespace std::literals;

namespace {

bool is_public_text(const std::string& text) {
  auto x = parse_address(text);
  if (!x)
    CAF_FAIL("no address: " << text);
  return is_public(*x);
}

} // namespace

CAF_TEST(addresses that the public can reach) {
  for (auto text : {
         "1.1.1.1",
         "8.8.8.8",
         "9.255.255.255",
         "11.0.0.0",
         "100.63.255.255",
         "100.128.0.0",
         "126.255.255.255",
         "128.0.0.0",
         "169.253.255.255",
         "169.255.0.0",
         "172.15.255.255",
         "172.32.0.0",
         "192.0.1.0",
         "192.0.3.0",
         "192.88.98.255",
         "192.167.255.255",
         "192.169.0.0",
         "198.17.255.255",
         "198.20.0.0",
         "198.51.99.255",
         "198.51.101.0",
         "203.0.112.255",
         "203.0.114.0",
         "223.255.255.255",
         "2001:200::",
         "2001:4860:4860::8888",
         "2001:db7:ffff::",
         "2001:db9::",
         "2606:4700:4700::1111",
         "2A00:1450:4001:81B::200E",
         "3ffe:ffff::1",
         "3fff:1000::",
         "::ffff:8.8.8.8",
         "::FFFF:808:808",
         "64:ff9b::8.8.8.8",
         "64:ff9b::101:101",
         "2002:808:808::1",
       }) {
    CAF_MESSAGE(text);
    CAF_CHECK(is_public_text(text));
  }
}

CAF_TEST(addresses that only this machine or network or nobody can reach) {
  for (auto text : {
         "0.0.0.0",
         "0.1.2.3",
         "10.0.0.0",
         "10.255.255.255",
         "100.64.0.0",
         "100.127.255.255",
         "127.0.0.0",
         "127.0.0.1",
         "127.255.255.255",
         "169.254.0.0",
         "169.254.169.254",
         "169.254.255.255",
         "172.16.0.0",
         "172.31.255.255",
         "192.0.0.0",
         "192.0.0.255",
         "192.0.2.0",
         "192.0.2.255",
         "192.88.99.1",
         "192.168.0.0",
         "192.168.255.255",
         "198.18.0.0",
         "198.19.255.255",
         "198.51.100.7",
         "203.0.113.255",
         "224.0.0.0",
         "239.255.255.255",
         "240.0.0.0",
         "255.255.255.255",
         "::",
         "::1",
         "0:0:0:0:0:0:0:1",
         "0000:0000:0000:0000:0000:0000:0000:0001",
         "::8.8.8.8", // IPv4-compatible, given up
         "::ffff:127.0.0.1",
         "::ffff:7f00:1",
         "0:0:0:0:0:FFFF:7F00:0001",
         "::ffff:10.0.0.1",
         "::ffff:169.254.169.254",
         "::ffff:a9fe:a9fe",
         "::ffff:0:127.0.0.1", // IPv4-translated
         "64:ff9b::127.0.0.1",
         "64:ff9b::10.1.2.3",
         "64:ff9b::a9fe:a9fe",
         "64:ff9b::1:808:808", // not the well-known prefix of 96 bits
         "64:ff9b:1::8.8.8.8", // NAT64 of a local network
         "100::1",
         "2001::1", // Teredo
         "2001:0:808:808::1",
         "2001:2::1",  // benchmarking
         "2001:10::1", // ORCHID
         "2001:20::1",
         "2001:1ff:ffff::",
         "2001:db8::",
         "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
         "2002:7f00:1::1", // 6to4
         "2002:a00:1::",
         "2002:a9fe:a9fe::",
         "2002:c0a8:101::1",
         "3fff::",
         "3fff:fff:ffff::",
         "4000::1",
         "5f00::1",
         "fc00::1",
         "fd12:3456:789a::1",
         "fdff:ffff::",
         "fe80::1",
         "febf::1",
         "fec0::1",
         "ff02::1",
         "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
       }) {
    CAF_MESSAGE(text);
    CAF_CHECK(!is_public_text(text));
  }
}

CAF_TEST(texts that are no addresses) {
  for (const auto& text :
       {""s,           " "s,          "1"s,         "127.1"s,     "2130706433"s,
        "0x7f.0.0.1"s, "127.0.0.01"s, "1.2.3.256"s, "1.2.3.4.5"s, "1.2.3.4 "s,
        "1.2.3.4\0"s,  ":"s,          ":::"s,       "1::2::3"s,   "[::1]"s,
        "::1%lo"s,     "::1.2.3"s,    "12345::"s,   "g::"s,       "localhost"s})
    CAF_CHECK(!parse_address(text));
}

CAF_TEST(addresses of sockets) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(0x01020304);
  auto* raw = reinterpret_cast<sockaddr*>(&v4);
  auto x = address_of(raw, sizeof(v4));
  CAF_REQUIRE(x);
  CAF_CHECK(!x->is_v6);
  CAF_CHECK_EQUAL(x->bytes[0], 1);
  CAF_CHECK_EQUAL(x->bytes[3], 4);
  CAF_CHECK(!address_of(raw, sizeof(v4) - 1));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr.s6_addr[15] = 1;
  raw = reinterpret_cast<sockaddr*>(&v6);
  x = address_of(raw, sizeof(v6));
  CAF_REQUIRE(x);
  CAF_CHECK(x->is_v6);
  CAF_CHECK(!is_public(*x));
  CAF_CHECK(!address_of(raw, sizeof(sockaddr_in)));
  sockaddr_un other{};
  other.sun_family = AF_UNIX;
  CAF_CHECK(!address_of(reinterpret_cast<sockaddr*>(&other), sizeof(other)));
  CAF_CHECK(!address_of(nullptr, 0));
}
