// tests/unit/persistence/text.test.cpp -- texts as they may be stored.
#define CAF_SUITE persistence.text

#include "persistence/text.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <vector>

using namespace reeve;
using namespace std::literals;

namespace {

const std::vector<std::string> well_formed{
  "",
  "plain",
  "한글 가나다",
  "\x7f",
  "\u0080",
  "\u07ff",
  "\u0800",
  "\ud7ff",
  "\ue000",
  "\ufeff bom",
  "\uffff noncharacter",
  "\U00010000",
  "\U0010ffff",
  "e\u0301\u0301\u0301",
  "\u202e right to left",
};

const std::vector<std::string> ill_formed{
  "\x80",             // a continuation alone
  "\xc3",             // cut off
  "\xe2\x82",         //
  "\xf0\x9f\x98",     //
  "\xc0\x80",         // overlong U+0000
  "\xc1\xbf",         // overlong
  "\xe0\x80\xaf",     //
  "\xf0\x80\x80\xaf", //
  "\xed\xa0\x80",     // a surrogate
  "\xed\xbf\xbf",     //
  "\xf4\x90\x80\x80", // above U+10FFFF
  "\xf5\x80\x80\x80", //
  "\xfe",             //
  "\xff",             //
  "caf\xe9",          // Latin-1
  "ok \xc3( ok",      //
};

} // namespace

SCENARIO("well-formed UTF-8 is valid, storable and left alone") {
  for (const auto& x : well_formed) {
    CHECK(is_valid_utf8(x));
    CHECK(is_storable(x));
    CHECK_EQ(sanitized(x), x);
    CHECK_EQ(storable_error(x), x);
  }
}

SCENARIO("ill-formed UTF-8 is found wherever it stands, and replaced") {
  for (const auto& bad : ill_formed)
    for (const auto& x : {bad, "a" + bad, bad + "z", "한" + bad + "글"}) {
      CHECK(!is_valid_utf8(x));
      CHECK(!is_storable(x));
      const auto clean = sanitized(x);
      CHECK(is_storable(clean));
      CHECK(clean.find("\uFFFD") != std::string::npos);
      CHECK_EQ(sanitized(clean), clean);
    }
  CHECK_EQ(sanitized("a\xf0\x9f\x98z"), "a\uFFFDz");
  CHECK_EQ(sanitized("caf\xe9 \xff\xfe"), "caf\uFFFD \uFFFD\uFFFD");
}

SCENARIO("U+0000 is valid but not storable") {
  CHECK(is_valid_utf8("a\0b"sv));
  CHECK(!is_storable("a\0b"sv));
  CHECK(!is_storable("\0"sv));
  CHECK_EQ(sanitized("a\0b\0"sv), "a\uFFFDb\uFFFD");
}

SCENARIO("texts are cut at code points") {
  CHECK_EQ(truncated("abc", 3), "abc");
  CHECK_EQ(truncated("abcd", 3), "abc...");
  CHECK_EQ(truncated("한글날", 2), "한글...");
  CHECK_EQ(truncated("한글", 2), "한글");
  CHECK_EQ(truncated("🦉🦉🦉", 1), "🦉...");
  CHECK_EQ(truncated("", 0), "");
  CHECK_EQ(truncated("a", 0), "...");
  std::string korean;
  for (int i = 0; i < 5'000; ++i)
    korean += "한";
  CHECK_EQ(storable_error(korean), korean.substr(0, 3'000) + "...");
  CHECK_EQ(storable_error(korean.substr(0, 3'000)), korean.substr(0, 3'000));
}

SCENARIO("every byte string becomes storable") {
  uint32_t state = 20'240'607;
  for (int round = 0; round < 5'000; ++round) {
    std::string bytes;
    for (int i = 0; i < 24; ++i) {
      state = state * 1'664'525 + 1'013'904'223;
      bytes += static_cast<char>(state >> 24);
    }
    const auto clean = storable_error(bytes);
    if (!is_storable(clean))
      FAIL("seeded round " << round);
    CHECK_EQ(is_storable(bytes), clean == bytes);
  }
}
