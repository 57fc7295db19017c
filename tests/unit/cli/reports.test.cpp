// tests/unit/cli/reports.test.cpp -- tables of what a node answers, whatever it
// answers.
#define CAF_SUITE cli.reports

#include "cli/reports.hpp"

#include <caf/test/dsl.hpp>

#include <sstream>

using namespace reeve;

namespace {

std::vector<std::string> lines(const table& x) {
  std::vector<std::string> result;
  std::istringstream in{x.rendered(0, false)};
  for (std::string line; std::getline(in, line);)
    result.push_back(line);
  return result;
}

std::vector<std::string> lines_of_actors(const char* text) {
  return lines(actors_table(ordered_json::parse(text)));
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream in{line};
  std::vector<std::string> result;
  for (std::string word; in >> word;)
    result.push_back(word);
  return result;
}

} // namespace

CAF_TEST(children stand below their parents) {
  auto shown = lines_of_actors(R"([
    {"name": "b-1", "parent": "b"},
    {"name": "supervisor", "parent": null},
    {"name": "b", "parent": "supervisor"},
    {"name": "orphan", "parent": "gone"}])");
  CAF_REQUIRE_EQUAL(shown.size(), 5u);
  CAF_CHECK(shown[1].starts_with("supervisor "));
  CAF_CHECK(shown[2].starts_with("  b "));
  CAF_CHECK(shown[3].starts_with("    b-1 "));
  CAF_CHECK(shown[4].starts_with("orphan "));
}

CAF_TEST(figures are shown where there are some) {
  auto shown = lines_of_actors(R"([{
    "name": "db", "state": "running", "mailbox": 3, "messages": 70,
    "wait_seconds": {"p95": 0.00125}, "handling_seconds": {"p95": 0.25},
    "restarts": 2, "restart_budget": {"left": 3, "of": 5},
    "uptime_seconds": 61, "last_error": "x", "new": {"field": 1}}])");
  CAF_CHECK_EQUAL(
    words(shown.at(1)),
    (std::vector<std::string>{"db", "running", "3", "2", "3/5", "1m", "1s",
                              "70", "1.25", "ms", "250", "ms", "x"}));
}

CAF_TEST(an answer of another shape is no trouble) {
  // A circle, a name twice, and members of other kinds.
  for (auto* text :
       {R"([{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}])",
        R"([{"name": "a", "parent": "a"}, {"name": "a", "parent": "a"}])",
        R"([{"name": 7, "state": {}, "wait_seconds": 3,
              "restart_budget": "x", "uptime_seconds": "y"}, {}])",
        R"([])"})
    CAF_CHECK_GREATER_OR_EQUAL(lines_of_actors(text).size(), 1u);
  CAF_CHECK_EQUAL(lines(stats_table(ordered_json::object())).size(), 1u);
  CAF_CHECK_EQUAL(lines(stats_table({{"by_type", 3}, {"jobs", 4}})).size(), 2u);
}

CAF_TEST(types and their sum) {
  auto shown = lines(stats_table(ordered_json::parse(R"({
    "jobs": {"PENDING": 3, "FAILED": 1},
    "by_type": {"A": {"PENDING": 3}, "B": {"FAILED": 1}}})")));
  CAF_REQUIRE_EQUAL(shown.size(), 4u);
  CAF_CHECK_EQUAL(words(shown[1]),
                  (std::vector<std::string>{"A", "3", "0", "0", "0", "0"}));
  CAF_CHECK_EQUAL(words(shown[3]),
                  (std::vector<std::string>{"all", "3", "0", "0", "1", "0"}));
}
