// tests/unit/net/json_writer.test.cpp -- the writer says what nlohmann says.
#define CAF_SUITE net.json_writer

#include "net/json_writer.hpp"

#include "net/json.hpp"

#include <caf/test/dsl.hpp>

#include <cstdint>
#include <limits>

using namespace reeve::net;
using namespace std::literals;

namespace {

std::string written(std::string_view text) {
  std::string result;
  append_json_string(result, text);
  return result;
}

std::string expected(std::string_view text) {
  return dump_json(std::string{text});
}

template <class T>
std::string value_of(const T& x) {
  std::string result;
  json_writer{result}.value(x);
  return result;
}

void append_utf8(std::string& out, uint32_t c) {
  auto tail = [&](int shift) {
    out += static_cast<char>(0x80 | ((c >> shift) & 0x3f));
  };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | c >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

bool is_surrogate(uint32_t c) {
  return c >= 0xd800 && c <= 0xdfff;
}

} // namespace

CAF_TEST(every character is spelled as nlohmann spells it) {
  std::string all;
  for (uint32_t c = 0; c <= 0x10ffff; ++c) {
    if (is_surrogate(c))
      continue;
    if (c < 0x3000) {
      std::string one;
      append_utf8(one, c);
      if (written(one) != expected(one))
        CAF_FAIL("U+" << c);
    }
    append_utf8(all, c);
  }
  CAF_CHECK(written(all) == expected(all));
  CAF_CHECK(parse_json(written(all.substr(1))) == all.substr(1));
}

CAF_TEST(ends and neighbours of characters that need escaping) {
  for (auto text :
       {""sv, "\""sv, "\\"sv, "\"\""sv, "a\"b"sv, "\"a"sv, "a\""sv, "\n\r\t"sv,
        "\b\f\x01\x1f\x7f"sv, "\0"sv, "a\0b"sv, "</script>"sv, "\\u0041"sv,
        "line\u2028and\u2029paragraph"sv, "\xf0\x9f\x98\x80"sv})
    CAF_CHECK_EQUAL(written(text), expected(text));
}

CAF_TEST(every pair of bytes also when ill formed) {
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      std::string text{"x"};
      text += static_cast<char>(a);
      text += static_cast<char>(b);
      if (written(text) != expected(text))
        CAF_FAIL("bytes " << a << " " << b);
    }
}

CAF_TEST(ill formed bytes at every place of a word) {
  for (auto broken :
       {"\xff"sv, "\xc3"sv, "\xed\xa0\x80"sv, "\xf4\x90\x80\x80"sv})
    for (size_t before = 0; before < 20; ++before) {
      auto text = std::string(before, 'a') + std::string{broken} + "tail";
      CAF_CHECK_EQUAL(written(text), expected(text));
    }
}

CAF_TEST(a megabyte of what needs escaping) {
  std::string text;
  while (text.size() < 1'000'000)
    text += "a\"\\\n\x01\xe2\x80\xa8";
  CAF_CHECK(written(text) == expected(text));
}

CAF_TEST(numbers up to their limits) {
  CAF_CHECK_EQUAL(value_of(0), "0");
  CAF_CHECK_EQUAL(value_of(-1), "-1");
  CAF_CHECK_EQUAL(value_of(std::numeric_limits<int64_t>::min()),
                  "-9223372036854775808");
  CAF_CHECK_EQUAL(value_of(std::numeric_limits<uint64_t>::max()),
                  "18446744073709551615");
  CAF_CHECK_EQUAL(value_of(uint32_t{4'294'967'295}), "4294967295");
}

CAF_TEST(what is absent is null) {
  CAF_CHECK_EQUAL(value_of(std::optional<std::string>{}), "null");
  CAF_CHECK_EQUAL(value_of(std::optional<std::string>{"x"}), "\"x\"");
  CAF_CHECK_EQUAL(value_of(true), "true");
  CAF_CHECK_EQUAL(value_of(false), "false");
}

CAF_TEST(commas stand between values and nowhere else) {
  std::string text = "data: ";
  json_writer out{text};
  out.begin_object();
  out.member("a", 1).member("b", "x");
  out.key("empty").begin_object().end_object();
  out.key("list").begin_array();
  out.value(1).raw("{\"n\": 1e400}").null();
  out.begin_array().end_array();
  out.begin_object().member("c", false).end_object();
  out.end_array();
  out.member("last", true).end_object();
  CAF_CHECK_EQUAL(text,
                  R"(data: {"a":1,"b":"x","empty":{},"list":)"
                  R"([1,{"n": 1e400},null,[],{"c":false}],"last":true})");
}
