// tests/unit/cli/api.test.cpp -- what requests and answers are made of.
#define CAF_SUITE cli.api

#include "cli/api.hpp"

#include "cli/client_command.hpp"

#include <caf/test/dsl.hpp>

using namespace reeve;

CAF_TEST(queries are encoded) {
  CAF_CHECK_EQUAL(query_string({}), "");
  CAF_CHECK_EQUAL(query_string({{"a", ""}}), "");
  CAF_CHECK_EQUAL(query_string({{"a", ""}, {"b", "%x y&z"}, {"c", "1"}}),
                  "?b=%25x%20y%26z&c=1");
  CAF_CHECK_EQUAL(query_string({{"a", "ä"}}), "?a=%C3%A4");
}

CAF_TEST(a segment cannot leave its place) {
  CAF_CHECK_EQUAL(path_segment("../x?y#z"), "..%2Fx%3Fy%23z");
}

CAF_TEST(members of any kind have a text) {
  auto x = ordered_json::parse(
    R"({"t": "a", "n": 1.5, "b": true, "z": null, "o": {"p": [1]}})");
  CAF_CHECK_EQUAL(text_of(x, "t"), "a");
  CAF_CHECK_EQUAL(text_of(x, "n"), "1.5");
  CAF_CHECK_EQUAL(text_of(x, "b"), "true");
  CAF_CHECK_EQUAL(text_of(x, "z"), "");
  CAF_CHECK_EQUAL(text_of(x, "o"), R"({"p":[1]})");
  CAF_CHECK_EQUAL(text_of(x, "missing"), "");
  CAF_CHECK_EQUAL(text_of(ordered_json(7), "t"), "");
  CAF_CHECK_EQUAL(number_of(x, "n"), 1.5);
  CAF_CHECK_EQUAL(number_of(x, "t"), 0.0);
  CAF_CHECK_EQUAL(list_of(x["o"], "p").size(), 1u);
  CAF_CHECK_EQUAL(list_of(x, "t").size(), 0u);
}

CAF_TEST(an answer that is no JSON is an error) {
  CAF_CHECK_THROWS_AS(parsed("<html>"), api_error);
  CAF_CHECK_THROWS_AS(parsed("{\"a\":\"\xff\"}"), api_error);
}

CAF_TEST(the address that is shown has no credentials) {
  auto shown = [](const char* url) { return api_client{url, "key"}.url(); };
  CAF_CHECK_EQUAL(shown("http://host:1//"), "http://host:1");
  CAF_CHECK_EQUAL(shown("http://me:pass@host/x@y"), "http://host/x@y");
  CAF_CHECK_EQUAL(shown("http://me:p@ss@host"), "http://host");
}

CAF_TEST(times and durations for people) {
  CAF_CHECK_EQUAL(shown_time("2026-01-31T10:20:30.123Z"),
                  "2026-01-31 10:20:30");
  CAF_CHECK_EQUAL(shown_time("soon"), "soon");
  CAF_CHECK_EQUAL(shown_duration(0.25), "0.2s");
  CAF_CHECK_EQUAL(shown_duration(59), "59s");
  CAF_CHECK_EQUAL(shown_duration(61), "1m 1s");
  CAF_CHECK_EQUAL(shown_duration(93784.2), "1d 2h");
  CAF_CHECK_EQUAL(shown_duration(3600), "1h");
  CAF_CHECK_EQUAL(shown_duration(-1), "-");
}
