// tests/unit/net/json.test.cpp
#define CAF_SUITE net.json

#include "net/json.hpp"
#include "net/text.hpp"

#include <caf/test/dsl.hpp>

#include <chrono>

using namespace reeve::net;
using namespace std::literals;

namespace {

// The message of the refusal; empty when the text is accepted.
std::string refusal_of(std::string_view text, json_limits limits = {}) {
  try {
    parse_json(text, limits);
    return "";
  } catch (const json_error& err) {
    return err.what();
  }
}

bool contains(const std::string& text, std::string_view part) {
  if (text.find(part) != std::string::npos)
    return true;
  CAF_MESSAGE("message: " << text);
  return false;
}

std::string repeat(std::string_view text, size_t n) {
  std::string result;
  for (; n > 0; --n)
    result += text;
  return result;
}

} // namespace

CAF_TEST(values come back as they were) {
  for (auto text : {
         "null",
         "true",
         "-1",
         "0.5",
         "\"\"",
         "[]",
         "{}",
         "9223372036854775807",
         "-9223372036854775808",
         "18446744073709551615",
         R"({"a":[1,{"b":null,"c":[[],{}]},"x"],"b":{"":0}})",
         "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80 \xe2\x80\xa8\"",
         "1.7976931348623157e+308",
       })
    CAF_CHECK_EQUAL(dump_json(parse_json(text)), text);
  CAF_CHECK(parse_json(R"("\ud83d\ude00\u00e9")")
            == "\xf0\x9f\x98\x80\xc3\xa9");
  CAF_CHECK(parse_json(" \t\r\n[1 , 2]\n").size() == 2);
  CAF_CHECK(parse_json("18446744073709551615").is_number_unsigned());
}

CAF_TEST(malformed text is refused with its place) {
  CAF_CHECK(contains(refusal_of(""), "empty"));
  CAF_CHECK(contains(refusal_of(" \n"), "empty"));
  CAF_CHECK(contains(refusal_of("{} x"), "byte 4"));
  CAF_CHECK(contains(refusal_of("{}{}"), "byte 3"));
  CAF_CHECK(contains(refusal_of(R"({"a":{"b":[1,2,)"), "/a/b/2"));
  CAF_CHECK(contains(refusal_of(R"({"a":tru})"), "/a"));
  for (auto text : {"{",           "[",
                    "\"",          "[1,]",
                    "{\"a\":1,}",  "{\"a\"}",
                    "{a:1}",       "'a'",
                    "01",          "+1",
                    ".5",          "1.",
                    "0x1",         "NaN",
                    "Infinity",    "-",
                    "1e",          "/* */ 1",
                    "// x\n1",     "[1 2]",
                    "}",           "]",
                    "\"\\x\"",     "\"\\u12\"",
                    "\"\\ud800\"", "\"\\udc00\\ud800\"",
                    "\"a\nb\"",    "\"a\tb\"",
                    "nul",         "TRUE",
                    ",",           ":"})
    if (refusal_of(text).empty())
      CAF_ERROR("accepted: " << text);
}

CAF_TEST(a refusal quotes nothing of the sender but the pointer) {
  auto err = refusal_of("{\"a\":\"secret\n\"}");
  CAF_CHECK(contains(err, "invalid JSON at byte"));
  CAF_CHECK(contains(err, "/a"));
  CAF_CHECK(err.find("secret") == std::string::npos);
  CAF_CHECK(invalid_utf8(refusal_of("[\xc3\xa9]")) == std::string::npos);
}

CAF_TEST(bytes that are no JSON are refused) {
  CAF_CHECK(contains(refusal_of("\xef\xbb\xbf{}"), "byte order mark"));
  CAF_CHECK(contains(refusal_of("{}\0{"s), "byte 2"));
  CAF_CHECK(contains(refusal_of("\"a\0\""s), "U+0000"));
  for (auto bad : {"\xff", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                   "\xf4\x90\x80\x80", "\xf8", "\xc3", "\x80", "\xe2\x82"})
    CAF_CHECK(contains(refusal_of("[\""s + bad + "\"]"), "UTF-8 at byte 2"));
}

CAF_TEST(NUL is refused with its place) {
  CAF_CHECK(contains(refusal_of(R"({"a":["x","b\u0000"]})"), "/a/1: U+0000"));
  CAF_CHECK(contains(refusal_of(R"({"x":{"a\u0000b":1}})"), "/x: U+0000"));
}

CAF_TEST(a name twice is refused with its place) {
  CAF_CHECK(contains(refusal_of(R"({"a":1,"a":2})"), "/a: "));
  CAF_CHECK(contains(refusal_of(R"({"x":[0,{"b~/":1,"\u0062~/":2}]})"),
                     "/x/1/b~0~1: "));
  CAF_CHECK_EQUAL(refusal_of(R"({"a":{"a":1},"b":{"a":1}})"), "");
}

CAF_TEST(numbers that no store keeps are refused) {
  for (auto text : {"1e999", "-1e999", "1.5e400"})
    CAF_CHECK(
      contains(refusal_of("[0,"s + text + "]"), "/1: a number must be"));
  for (auto text : {"18446744073709551616", "-9223372036854775809",
                    "123456789012345678901234567890"})
    CAF_CHECK(contains(refusal_of("{\"n\":"s + text + "}"),
                       "/n: an integer must be between"));
  auto digits = std::string(1'000'000, '9');
  CAF_CHECK(contains(refusal_of(digits), "an integer must be between"));
  // A real number is a double, however it is written.
  CAF_CHECK_EQUAL(refusal_of("18446744073709551616.0"), "");
  CAF_CHECK_EQUAL(refusal_of("1e22"), "");
}

CAF_TEST(depth is limited and costs no stack) {
  auto nested = [](size_t n) { return repeat("[", n) + repeat("]", n); };
  CAF_CHECK_EQUAL(refusal_of(nested(64)), "");
  CAF_CHECK(contains(refusal_of(nested(65)), "deeper than the 64 levels"));
  auto objects = repeat("{\"a\":", 64) + "{}" + repeat("}", 64);
  CAF_CHECK(contains(refusal_of(objects), "deeper than the 64 levels"));
  auto began = std::chrono::steady_clock::now();
  CAF_CHECK(contains(refusal_of(repeat("[", 100'000)), "deeper"));
  CAF_CHECK(contains(refusal_of(repeat("{\"a\":", 100'000)), "deeper"));
  // With a generous limit too, including the value's destruction.
  CAF_CHECK_EQUAL(refusal_of(nested(100'000), {200'000, 200'000}), "");
  CAF_CHECK(
    contains(refusal_of(repeat("[", 100'000), {200'000, 200'000}), "/0/0/0"));
  CAF_CHECK_LESS(std::chrono::steady_clock::now() - began, 5s);
}

CAF_TEST(elements are limited across the whole text) {
  json_limits limits{64, 5};
  CAF_CHECK_EQUAL(refusal_of("[1,2,3,4,5]", limits), "");
  CAF_CHECK(contains(refusal_of("[1,2,3,4,5,6]", limits), "/5: more than 5"));
  CAF_CHECK_EQUAL(refusal_of(R"({"a":[1,2],"b":{"c":3}})", limits), "");
  CAF_CHECK(contains(refusal_of(R"({"a":[1,2],"b":{"c":3,"d":4}})", limits),
                     "/b/d: more than 5"));
  CAF_CHECK(contains(refusal_of("[" + repeat("[],", 200'000) + "0]"),
                     "at most that many"));
}

CAF_TEST(a long pointer is cut between characters) {
  auto name = repeat("\xe2\x82\xac", 1000);
  auto err = refusal_of("{\"" + name + "\":1e999}");
  CAF_CHECK_LESS(err.size(), 400u);
  CAF_CHECK(invalid_utf8(err) == std::string::npos);
  CAF_CHECK(contains(err, "..."));
}

CAF_TEST(dumping cannot throw) {
  CAF_CHECK_EQUAL(dump_json({{"a", "x\xff"}}), "{\"a\":\"x\xef\xbf\xbd\"}");
}
