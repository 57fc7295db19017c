// tests/unit/cli/cells.test.cpp -- texts as a terminal shows them.
#define CAF_SUITE cli.cells

#include "cli/cells.hpp"

#include "net/json.hpp"

#include <caf/test/dsl.hpp>

using namespace reeve;

namespace {

constexpr const char* replaced = "\xEF\xBF\xBD";

} // namespace

CAF_TEST(usual texts stay as they are) {
  for (std::string text : {"", "plain", "한국어 제목", "e\u0301te\u0301",
                           "a\u200Db", "👩‍🚀"})
    CAF_CHECK_EQUAL(harmless(text), text);
}

CAF_TEST(what a terminal would obey is replaced) {
  auto r = std::string{replaced};
  CAF_CHECK_EQUAL(harmless("\x1b[2J"), r + "[2J");
  CAF_CHECK_EQUAL(harmless("a\x07"), 'a' + r);
  CAF_CHECK_EQUAL(harmless("\x7f"), r);
  CAF_CHECK_EQUAL(harmless(std::string("\0", 1)), r);
  // CSI in eight bits.
  CAF_CHECK_EQUAL(harmless("\u009b2J"), r + "2J");
  // Right-to-left override, and marks nobody sees.
  CAF_CHECK_EQUAL(harmless("\u202egnp"), r + "gnp");
  CAF_CHECK_EQUAL(harmless("\u2066\ufeff\U000E0041"), r + r + r);
}

CAF_TEST(one line stays one line) {
  CAF_CHECK_EQUAL(harmless("a\nb\r\tc\u2028d\u2029e"), "a b  c d e");
}

CAF_TEST(ill formed bytes are replaced) {
  auto r = std::string{replaced};
  CAF_CHECK_EQUAL(harmless("a\xff"), 'a' + r);
  CAF_CHECK_EQUAL(harmless("\xc3"), r);
  CAF_CHECK_EQUAL(harmless("\xc0\x80").find('\0'), std::string::npos);
  CAF_CHECK_EQUAL(harmless("\xed\xa0\x80x").back(), 'x');
  for (int byte = 0; byte < 256; ++byte)
    for (unsigned char c : harmless(std::string(3, static_cast<char>(byte))))
      CAF_CHECK(c >= 0x20 && c != 0x7f);
}

CAF_TEST(marks do not pile up) {
  std::string tower = "a";
  for (int i = 0; i < 100; ++i)
    tower += "\u0301";
  auto shown = harmless(tower + "b\u0301");
  CAF_CHECK_EQUAL(shown, "a\u0301\u0301\u0301\u0301b\u0301");
}

CAF_TEST(JSON keeps its meaning) {
  std::string text =
    "{\"a\":\"\u009b\u202e\u2028\U000E0041 한 \x7f\",\n\t\"b\":1}";
  auto shown = harmless_json(text);
  CAF_CHECK_EQUAL(shown.find("\u009b"), std::string::npos);
  CAF_CHECK_EQUAL(shown.find('\x7f'), std::string::npos);
  CAF_CHECK(shown.find("\\udb40\\udc41") != std::string::npos);
  CAF_CHECK(net::parse_json(shown) == net::parse_json(text));
}

CAF_TEST(cells are counted as a terminal does) {
  CAF_CHECK_EQUAL(cells(""), 0u);
  CAF_CHECK_EQUAL(cells("abc"), 3u);
  CAF_CHECK_EQUAL(cells("ä"), 1u);
  CAF_CHECK_EQUAL(cells("e\u0301"), 1u);
  CAF_CHECK_EQUAL(cells("한국"), 4u);
  CAF_CHECK_EQUAL(cells("…"), 1u);
  CAF_CHECK_EQUAL(cells("🚀"), 2u);
}

CAF_TEST(what is cut ends in an ellipsis and fits) {
  CAF_CHECK_EQUAL(cut_to("abc", 3), "abc");
  CAF_CHECK_EQUAL(cut_to("abcd", 3), "ab…");
  CAF_CHECK_EQUAL(cut_to("abcd", 1), "…");
  CAF_CHECK_EQUAL(cut_to("abcd", 0), "");
  // A wide character is not cut in two.
  CAF_CHECK_EQUAL(cut_to("한국어", 4), "한…");
  CAF_CHECK_EQUAL(cut_to("e\u0301e\u0301e\u0301", 2), "e\u0301…");
}

CAF_TEST(what is fitted has its width) {
  CAF_CHECK_EQUAL(fitted("ab", 4), "ab  ");
  CAF_CHECK_EQUAL(fitted("ab", 4, true), "  ab");
  CAF_CHECK_EQUAL(fitted("한국어", 4), "한… ");
}
