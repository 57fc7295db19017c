// tests/unit/persistence/fingerprint.test.cpp -- which failures are the same.
#define CAF_SUITE persistence.fingerprint

#include "persistence/fingerprint.hpp"

#include "persistence/digest.hpp"
#include "persistence/text.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <stdexcept>
#include <utility>
#include <vector>

using namespace reeve;
using namespace std::literals;

SCENARIO("what differs from failure to failure is replaced") {
  const std::vector<std::pair<std::string_view, std::string_view>> table{
    {"", ""},
    {" \t\n ", ""},
    {"Read timeout", "Read timeout"},
    {"  two\n\n lines\t", "two lines"},
    // Numbers.
    {"Read timeout after 30 s", "Read timeout after <n> s"},
    {"30s, 1,000.5 ms and 12%", "<n>s, <n> ms and <n>%"},
    {"attempt 2.", "attempt <n>."},
    {"page3 of v1beta", "page<n> of v<n>beta"},
    {"exit code -1", "exit code -<n>"},
    {"1 2 3", "<n> <n> <n>"},
    // URLs.
    {"GET http://127.0.0.1:8000/analyze?x=1 failed", "GET <url> failed"},
    {"see https://a.example/b.", "see <url>."},
    {"(https://a.example/b)", "(<url>)"},
    {"\"https://a.example/b c\"", "\"<url> c\""},
    {"svn+ssh://host/x", "<url>"},
    {"http://", "<url>"},
    {"://x", "://x"},
    {"a: //b", "a: //b"},
    // Ids.
    {"job 0198c5ff-0000-7abc-8def-0123456789ab is gone", "job <id> is gone"},
    {"0198C5FF-0000-7ABC-8DEF-0123456789AB", "<id>"},
    {"0198c5ff-0000-7abc-8def-0123456789abc", "<id>-<n>-<n>abc-<n>def-<id>"},
    {"commit deadbeef1", "commit <id>"},
    {"defaced decade cafe", "defaced decade cafe"},
    {"at 0x7f3a", "at <id>"},
    {"request req_011CSHoEeqs5C35K2UUqR7Fy", "request <id>"},
    {"sha256 differs", "sha<n> differs"},
    {"scrap 'abc-12' is gone", "scrap '<id>' is gone"},
    {"scrap \"a/1\" and `b.2`", "scrap \"<id>\" and `<id>`"},
    {"can't 'find' it", "can't 'find' it"},
    {"unclosed 'abc-12 is", "unclosed 'abc-<n> is"},
    // Addresses.
    {"connect to 10.0.0.12:5432: refused", "connect to <ip>: refused"},
    {"from 10.0.0.12", "from <ip>"},
    {"[::1]:8080 refused", "<ip> refused"},
    {"[fe80::1]", "<ip>"},
    {"[error] x", "[error] x"},
    {"version 1.2.3", "version <n>"},
    {"host:8080", "host:<n>"},
    // Other scripts stay whole.
    {"페이지 3 시간 초과", "페이지 <n> 시간 초과"},
    {"[", "["},
    {"'", "'"},
  };
  for (const auto& [message, pattern] : table)
    CHECK_EQ(error_pattern(message), pattern);
}

SCENARIO("a pattern is bounded and valid, whatever the message is") {
  std::string han;
  for (int i = 0; i < 5'000; ++i)
    han += "가";
  auto pattern = error_pattern(han);
  CHECK_EQ(pattern, han.substr(0, 3 * max_pattern_code_points));
  CHECK_EQ(error_pattern(std::string(300, 'x')), std::string(300, 'x'));
  CHECK_EQ(error_pattern(std::string(301, 'x')), std::string(300, 'x'));
  for (const auto& message :
       {std::string("a\0b\xff\xc3", 5), std::string(100'000, '\''),
        std::string(100'000, '['), std::string(100'000, '9'),
        std::string(100'000, '<')}) {
    pattern = error_pattern(message);
    CHECK(is_storable(pattern));
    CHECK_LE(pattern.size(), 4 * max_pattern_code_points);
  }
  std::string every_byte;
  for (int i = 0; i < 256; ++i)
    every_byte += static_cast<char>(i);
  for (size_t i = 0; i < every_byte.size(); ++i)
    CHECK(is_storable(error_pattern(every_byte.substr(i))));
}

SCENARIO("messages of one pattern have one fingerprint") {
  CHECK_EQ(fingerprint_of("page 1 failed"), fingerprint_of("page 22  failed "));
  CHECK_NE(fingerprint_of("page 1 failed"), fingerprint_of("page 1 Failed"));
  CHECK_EQ(fingerprint_of("x"), sha256_hex("x").substr(0, 16));
  CHECK_EQ(fingerprint_of("").size(), 16u);
}

SCENARIO("SHA-256 is that of FIPS 180-4") {
  CHECK_EQ(sha256_hex("abc"),
           "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK_EQ(sha256_hex(""),
           "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
