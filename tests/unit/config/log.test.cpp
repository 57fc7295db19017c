// tests/unit/config/log.test.cpp -- no text can forge a line.
#define CAF_SUITE config.log

#include "config/log.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <nlohmann/json.hpp>

using namespace reeve;

namespace {

constexpr size_t line_limit = 8 * 1024;

const std::string hostile[] = {
  "line one\nerror forged.event key=value",
  "carriage\rreturn",
  "\r\n\r\n",
  "nul \0 byte",
  std::string("\0\0\0", 3),
  "escape \x1b[2J\x1b]0;title\x07",
  "next line \xc2\x85 here",
  "line separator \xe2\x80\xa8 paragraph \xe2\x80\xa9",
  "delete \x7f",
  "right to left \xe2\x80\xae override",
  "invalid \xff\xfe utf-8 \xc3",
  "overlong \xc0\xaf and surrogate \xed\xa0\x80",
  "quote \" backslash \\ equals =",
  "\",\"level\":\"forged\"}",
  "",
  std::string(1'000'000, 'x'),
  std::string(1'000'000, '\n'),
  std::string(1'000'000, '\x1b'),
  std::string(1'000'000, '\xff'),
};

bool is_one_plain_line(const std::string& line) {
  for (unsigned char c : line)
    if (c < 0x20 || c > 0x7e)
      return false;
  return true;
}

nlohmann::json parse(const std::string& line) {
  return nlohmann::json::parse('{' + line + '}');
}

} // namespace

SCENARIO("hostile values stay within one short line of valid JSON") {
  for (const auto& text : hostile) {
    auto line =
      log::render("test.event", {{"first", text}, {"second", text}, {"n", 42}},
                  log::format::json);
    CHECK(is_one_plain_line(line));
    CHECK_LT(line.size() + 100, line_limit);
    auto parsed = parse(line);
    CHECK_EQ(parsed["event"], "test.event");
    CHECK_EQ(parsed["n"], "42");
    CHECK(parsed["first"].is_string());
  }
}

SCENARIO("hostile values stay within one short line of text") {
  for (const auto& text : hostile) {
    auto line = log::render("test.event", {{"first", text}, {"n", 42}},
                            log::format::text);
    CHECK(is_one_plain_line(line));
    CHECK_LT(line.size() + 100, line_limit);
    CHECK(line.starts_with("test.event first="));
    CHECK(line.ends_with(" n=42"));
  }
}

SCENARIO("many long values are cut off, and the line stays valid") {
  const std::string text(2'000, '\n');
  auto line = log::render("test.event",
                          {{"a", text},
                           {"b", text},
                           {"c", text},
                           {"d", text},
                           {"e", text},
                           {"f", text}},
                          log::format::json);
  CHECK_LT(line.size() + 100, line_limit);
  CHECK_EQ(parse(line)["event"], "test.event");
  CHECK(parse(line).contains("a"));
  auto plain = log::render(
    "test.event", {{"a", text}, {"b", text}, {"c", text}}, log::format::text);
  CHECK_LT(plain.size() + 100, line_limit);
  CHECK(is_one_plain_line(plain));
}

SCENARIO("harmless values read as they were written") {
  CHECK_EQ(log::render("job.ended",
                       {{"job", "0190-abc"}, {"run", 3}, {"ratio", true}},
                       log::format::text),
           "job.ended job=0190-abc run=3 ratio=1");
  CHECK_EQ(
    log::render("job.ended", {{"why", "attempt 1 of 3"}}, log::format::text),
    "job.ended why=\"attempt 1 of 3\"");
  CHECK_EQ(log::render("job.ended", {{"why", "a=b"}, {"empty", ""}},
                       log::format::text),
           "job.ended why=\"a=b\" empty=\"\"");
  CHECK_EQ(
    log::render("job.ended",
                {log::optional("trace_id", ""), log::optional("other", "x")},
                log::format::text),
    "job.ended other=x");
  auto parsed = parse(log::render(
    "job.ended", {{"why", "\xec\xb9\xb4\xeb\x93\x9c \xf0\x9f\x92\xa5\n"}},
    log::format::json));
  CHECK_EQ(parsed["why"], "\xec\xb9\xb4\xeb\x93\x9c \xf0\x9f\x92\xa5\n");
}
