// tests/unit/processors/rate_fields.test.cpp -- durations and instants in rate
// limits.
#define CAF_SUITE processors.rate_fields

#include "processors/ai/rate_fields.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::literals;
using std::chrono::milliseconds;
using std::chrono::system_clock;

namespace {

int64_t duration(std::string_view text) {
  auto x = parse_duration(text);
  return x ? x->count() : -1;
}

// Milliseconds since 2026-03-01T00:00:00Z.
int64_t instant(std::string_view text) {
  using namespace std::chrono;
  auto x = parse_instant(text);
  if (!x)
    return -1;
  auto start = sys_days{year{2026} / March / 1};
  return duration_cast<milliseconds>(*x - start).count();
}

} // namespace

CAF_TEST(durations) {
  for (auto [text, expected] : {
         std::pair<std::string_view, int64_t>{"0", 0},
         {"1", 1'000},
         {"0.5", 500},
         {"1s", 1'000},
         {"20ms", 20},
         {"6m0s", 360'000},
         {"1h2m3.5s", 3'723'500},
         {"1m0.5s", 60'500},
         {"1.2ms", 2},
         {"999us", 1},
         {"999\u00b5s", 1},
         {"1ns", 1},
         {"0s", 0},
         {"2d", 86'400'000},
         {"99999999h", 86'400'000},
         {"99999999999999999999999999s", 86'400'000},
       }) {
    MESSAGE(std::string{text});
    CHECK_EQ(duration(text), expected);
  }
  for (auto bad : {"", "s", "-1s", "+1s", "1x", "1 s", " 1s", "1s ", "1e3s",
                   "1..5s", "1m5", "inf", "nan", "0x10s", "1.5.2"}) {
    MESSAGE(bad);
    CHECK_EQ(duration(bad), -1);
  }
}

CAF_TEST(instants) {
  for (auto [text, expected] : {
         std::pair<std::string_view, int64_t>{"2026-03-01T00:00:00Z", 0},
         {"2026-03-01t00:00:01z", 1'000},
         {"2026-03-01T00:00:00.25Z", 250},
         {"2026-03-01T00:00:00.123456789Z", 123},
         {"2026-03-01T09:00:00+09:00", 0},
         {"2026-02-28T19:30:00-04:30", 0},
         {"2026-03-02T00:00:00Z", 86'400'000},
       }) {
    MESSAGE(std::string{text});
    CHECK_EQ(instant(text), expected);
  }
  for (auto bad :
       {"", "2026-03-01", "2026-03-01T00:00:00", "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-03-00T00:00:00Z", "2026-03-01T24:00:00Z",
        "2026-03-01T00:60:00Z", "2026-03-01T00:00:00.Z", "2026-3-1T0:0:0Z",
        "2026-03-01T00:00:00+9:00", "2026-03-01T00:00:00Z ", "x", "1772323200",
        "2026-03-01T00:00:00+24:00", "-026-03-01T00:00:00Z"}) {
    MESSAGE(bad);
    CHECK_EQ(instant(bad), -1);
  }
}

CAF_TEST(buckets need their limit and what remains) {
  net::http_response response;
  system_clock::time_point now;
  CHECK_EQ(anthropic_limits(response, now), rate_limits{});
  CHECK_EQ(openai_limits(response), rate_limits{});
  response.headers = {
    {"Anthropic-RateLimit-Requests-Limit", "50"},
    {"anthropic-ratelimit-requests-remaining", "-1"},
    {"anthropic-ratelimit-tokens-limit", "1000"},
    {"anthropic-ratelimit-tokens-remaining", " 10 "},
    {"anthropic-ratelimit-tokens-reset", "1970-01-01T00:00:02Z"},
    {"x-ratelimit-limit-requests", "99999999999999999999"},
    {"x-ratelimit-remaining-requests", "1"},
    {"x-ratelimit-limit-tokens", "5"},
    {"x-ratelimit-remaining-tokens", "4"},
    {"x-ratelimit-reset-tokens", "later"},
  };
  auto got = anthropic_limits(response, now);
  CHECK(!got.requests);
  CHECK_EQ(*got.input_tokens, (rate_limit{1000, 10, 2'000ms}));
  CHECK(!got.output_tokens);
  got = openai_limits(response);
  CHECK(!got.requests);
  CHECK_EQ(*got.input_tokens, (rate_limit{5, 4, 0ms}));
}
