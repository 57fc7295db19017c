// tests/unit/cli/table.test.cpp -- rows in columns, for people.
#define CAF_SUITE cli.table

#include "cli/table.hpp"

#include "cli/cells.hpp"

#include <caf/test/dsl.hpp>

#include <sstream>

using namespace reeve;

namespace {

table sample() {
  table result{{{"ID"}, {"N", true}, {"TEXT", false, true}}};
  result.add({{"a1"}, {"7"}, {"short"}});
  result.add({{"b"}, {"1234"}, {"a longer text than the others"}});
  return result;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);)
    result.push_back(line);
  return result;
}

} // namespace

CAF_TEST(columns are aligned) {
  CAF_CHECK_EQUAL(sample().rendered(0, false),
                  "ID     N  TEXT\n"
                  "a1     7  short\n"
                  "b   1234  a longer text than the others\n");
}

CAF_TEST(an empty table has its titles) {
  table uut{{{"ID"}, {"TEXT"}}};
  CAF_CHECK(uut.empty());
  CAF_CHECK_EQUAL(uut.rendered(0, false), "ID  TEXT\n");
}

CAF_TEST(elastic columns give way first) {
  CAF_CHECK_EQUAL(sample().rendered(20, false),
                  "ID     N  TEXT\n"
                  "a1     7  short\n"
                  "b   1234  a longer …\n");
}

CAF_TEST(then the last columns are left out) {
  CAF_CHECK_EQUAL(sample().rendered(19, false),
                  "ID     N\n"
                  "a1     7\n"
                  "b   1234\n");
  CAF_CHECK_EQUAL(sample().rendered(1, false), "…\n…\nb\n");
}

CAF_TEST(no line is longer than the terminal) {
  auto uut = sample();
  uut.add({{"한국어"}, {"한"}, {"한국어 메시지 한국어 메시지"}});
  for (size_t width = 1; width < 60; ++width)
    for (const auto& line : lines(uut.rendered(width, false)))
      CAF_CHECK_LESS_OR_EQUAL(cells(line), width);
}

CAF_TEST(wide characters keep the columns) {
  table uut{{{"NAME"}, {"X"}}};
  uut.add({{"한국"}, {"1"}});
  uut.add({{"ab"}, {"2"}});
  CAF_CHECK_EQUAL(uut.rendered(0, false),
                  "NAME  X\n"
                  "한국  1\n"
                  "ab    2\n");
}

CAF_TEST(texts are made harmless) {
  table uut{{{"A"}, {"B"}}};
  uut.add({{"x\ny\x1b[31m"}, {"z"}});
  CAF_CHECK_EQUAL(uut.rendered(0, false),
                  "A         B\n"
                  "x y\uFFFD[31m  z\n");
}

CAF_TEST(colours cost no width) {
  table uut{{{"A"}, {"B"}}};
  uut.add({{"x", tint::bad}, {"y"}});
  uut.add({{"longer"}, {"y", tint::good}});
  CAF_CHECK_EQUAL(uut.rendered(0, true),
                  "\x1b[1mA     \x1b[0m  \x1b[1mB\x1b[0m\n"
                  "\x1b[31mx     \x1b[0m  y\n"
                  "longer  \x1b[32my\x1b[0m\n");
}

CAF_TEST(bars) {
  CAF_CHECK_EQUAL(bar(50, 4, false), "##..");
  CAF_CHECK_EQUAL(bar(0, 4, false), "....");
  CAF_CHECK_EQUAL(bar(99, 4, false), "###.");
  CAF_CHECK_EQUAL(bar(100, 2, true), "██");
  CAF_CHECK_EQUAL(bar(-5, 2, true), "░░");
  CAF_CHECK_EQUAL(bar(1000, 2, true), "██");
}
