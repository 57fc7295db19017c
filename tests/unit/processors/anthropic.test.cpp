// tests/unit/processors/anthropic.test.cpp -- the Messages API and its faults,
// over real sockets.
#define CAF_SUITE processors.anthropic

#include "processors/ai/anthropic.hpp"

#include "processors/ai/anthropic_stream.hpp"
#include "tests/unit/processors/provider_fixture.hpp"

using namespace reeve;
using namespace std::literals;

namespace {

constexpr auto down = run_outcome::provider_down;
constexpr auto none = lane_effect::none;

struct fixture : test::provider_fixture {
  provider_answer<std::string> write(std::stop_token stop = {}) {
    text_request request;
    request.system = "task: book\nWrite a book, with care.";
    request.prompt =
      "title: A fox\npages: 3\nidea: " + std::string{test::secret_words};
    heard.clear();
    auto listen = [this](std::string_view piece) { heard.emplace_back(piece); };
    return anthropic{options}.write(request, listen, std::move(stop));
  }

  provider_failure fault(nlohmann::json x, run_outcome kind, lane_effect lane,
                         std::string_view part) {
    MESSAGE("fault: " << x.dump());
    x["api"] = "messages";
    next(std::move(x));
    return expect_failure(write(), kind, lane, part);
  }

  provider_failure status(int code, std::string message, run_outcome kind,
                          lane_effect lane, std::string_view part) {
    return fault({{"status", code}, {"message", std::move(message)}}, kind,
                 lane, part);
  }

  anthropic_options options = options_for<anthropic_options>("claude-test");
  std::vector<std::string> heard;
};

} // namespace

CAF_TEST_FIXTURE_SCOPE(anthropic_tests, fixture)

CAF_TEST(a text comes in pieces) {
  auto got = write();
  REQUIRE(got.ok());
  auto& text = std::get<std::string>(got.result);
  auto book = nlohmann::json::parse(text);
  CHECK_EQ(book["pages"].size(), 3u);
  std::string joined;
  for (auto& piece : heard)
    joined += piece;
  CHECK_EQ(joined, text);
  CHECK_GT(heard.size(), 5u);
  CHECK_EQ(got.model, "claude-test");
  // With the system prompt, which the fake counts as read from a cache.
  CHECK_EQ(got.used.input_tokens, 54u / 4 + 1 + 35 / 4 + 1);
  CHECK_EQ(got.used.output_tokens, text.size() / 4 + 1);
  CHECK_EQ(got.used.images, 0u);
  REQUIRE(got.limits.requests.has_value());
  CHECK_EQ(got.limits.requests->limit, 4000);
  CHECK_EQ(got.limits.requests->remaining, 3999);
  CHECK_GT(got.limits.requests->reset, 30s);
  CHECK_LE(got.limits.requests->reset, 61s);
  REQUIRE(got.limits.input_tokens.has_value());
  CHECK_EQ(got.limits.input_tokens->limit, 4'000'000);
  REQUIRE(got.limits.output_tokens.has_value());
  CHECK_EQ(got.limits.output_tokens->remaining, 799'999);
  CHECK_EQ(anthropic{options}.lane().name(), "anthropic/claude-test");
}

CAF_TEST(a text that comes byte by byte) {
  next({{"kind", "slow_bytes"}, {"interval", 0}});
  auto got = write();
  REQUIRE(got.ok());
  CHECK_EQ(
    nlohmann::json::parse(std::get<std::string>(got.result))["pages"].size(),
    3u);
}

CAF_TEST(what a listener throws comes out) {
  text_request request{"", "a prompt", 100};
  auto thrower = [](std::string_view) { throw std::range_error("enough"); };
  CHECK_THROWS_AS((anthropic{options}.write(request, thrower, {})),
                  std::range_error);
}

CAF_TEST(missing keys and permissions and money and models pause the lane) {
  auto pause = lane_effect::pause;
  status(401, "invalid x-api-key", down, pause, "refused our credentials");
  status(403, "no permission", down, pause, "refused our credentials");
  status(402, "a card is missing", down, pause, "a card is missing");
  status(400, "Your credit balance is too low to access the API.", down, pause,
         "wants to be paid");
  status(400, "You have reached your specified API usage limits.", down, pause,
         "wants to be paid");
  status(404, "model: x", down, pause, "is not known there");
  fault({{"status", 404}, {"body", "<html>Not found</html>"}}, down, pause,
        "is not known there");
  options.model = "no-such-model";
  expect_failure(write(), down, pause, "no-such-model is not known there");
  options.api_key = "another-key-of-a-secret-kind";
  expect_failure(write(), down, pause, "HTTP 401");
  options.api_key = "broken\r\nX-Forged: 1";
  expect_failure(write(), down, pause, "cannot be used");
}

CAF_TEST(requests that the provider does not like are permanent) {
  status(400, "max_tokens: too many", run_outcome::failed_permanently, none,
         "max_tokens: too many");
  status(413, "too large", run_outcome::failed_permanently, none, "HTTP 413");
  // The fake checks the shape: a blank prompt is refused by the real one, too.
  auto got = anthropic{options}.write({"", "", 10}, {}, {});
  expect_failure(got, run_outcome::failed_permanently, none, "non-empty");
  got = anthropic{options}.write({"", "x", 0}, {}, {});
  expect_failure(got, run_outcome::failed_permanently, none, "max_tokens");
  status(400, "cannot write '" + std::string{test::secret_words} + "'",
         run_outcome::failed_permanently, none, "is left out");
}

CAF_TEST(too many requests) {
  auto err = fault({{"status", 429}, {"headers", {{"Retry-After", "30"}}}},
                   run_outcome::throttled, lane_effect::throttle, "HTTP 429");
  CHECK(err.delay == 30s);
  err = fault({{"status", 429}}, run_outcome::throttled, lane_effect::throttle,
              "rate_limit_error");
  CHECK(!err.delay);
  next({{"status", 429},
        {"headers",
         {{"anthropic-ratelimit-requests-limit", "50"},
          {"anthropic-ratelimit-requests-remaining", "0"},
          {"anthropic-ratelimit-requests-reset", "2000-01-01T00:00:00Z"}}}});
  auto got = write();
  REQUIRE(got.limits.requests.has_value());
  CHECK_EQ(*got.limits.requests, (rate_limit{50, 0, 0ms}));
}

CAF_TEST(overload and errors of the provider) {
  auto outage = lane_effect::outage;
  for (auto code : {500, 502, 503, 504, 529, 408})
    status(code, "secret", down, outage, "HTTP " + std::to_string(code));
  auto err = fault({{"status", 529}, {"headers", {{"retry-after", "7"}}}}, down,
                   outage, "overloaded_error");
  CHECK(err.delay == 7s);
  options.url = "http://127.0.0.1:" + std::to_string(test::refusing_port());
  expect_failure(write(), down, outage, "No connection");
}

CAF_TEST(errors within a stream) {
  auto in_stream = [this](const char* type, run_outcome kind, lane_effect lane,
                          std::string_view part) {
    fault({{"kind", "error_event"}, {"type", type}, {"message", "Why not."}},
          kind, lane, part);
    CHECK_EQ(heard.size(), 2u);
  };
  in_stream("overloaded_error", down, lane_effect::outage, "overloaded_error");
  in_stream("api_error", down, lane_effect::outage, "api_error");
  in_stream("rate_limit_error", run_outcome::throttled, lane_effect::throttle,
            "fewer requests");
  in_stream("billing_error", down, lane_effect::pause, "wants to be paid");
  in_stream("invalid_request_error", run_outcome::failed_permanently, none,
            "Why not.");
  in_stream("some_new_error", down, lane_effect::outage, "cut off");
}

CAF_TEST(a stream that is cut anywhere) {
  // In the first event, in the middle, and before the last one.
  for (auto after : {0, 1, 100, 700, 1'500}) {
    fault({{"kind", "cut_stream"}, {"after", after}}, down, lane_effect::outage,
          "cut off");
  }
  next({{"kind", "cut_stream"}, {"after", 1'000}});
  auto got = write();
  CHECK_GT(got.used.input_tokens, 0u);
  CHECK_EQ(got.model, "claude-test");
}

CAF_TEST(silence and slowness) {
  options.idle_timeout = 300ms;
  auto start = test::clock_type::now();
  fault({{"kind", "hang"}}, down, lane_effect::outage, "in time");
  options.idle_timeout = 10s;
  options.total_timeout = 400ms;
  fault({{"kind", "slow_bytes"}, {"interval", 0.01}}, down, lane_effect::outage,
        "in time");
  CHECK_LT(test::clock_type::now() - start, 10s);
}

CAF_TEST(answers of no use) {
  fault({{"kind", "wrong_json"}}, run_outcome::failed, none, "JSON");
  fault({{"kind", "max_tokens"}}, run_outcome::failed, none, "was cut");
  fault({{"kind", "empty_text"}}, run_outcome::failed, none, "is empty");
  fault({{"kind", "refusal"}}, run_outcome::failed_permanently, none,
        "refuses to write");
  fault({{"status", 200}, {"body", "<html>Welcome</html>"}},
        run_outcome::failed, none, "no event stream");
  options.max_response_bytes = 1'000;
  expect_failure(write(), run_outcome::failed, none, "too large");
}

CAF_TEST(a stop ends the call within a second) {
  next({{"kind", "hang"}});
  std::stop_source source;
  test::clock_type::time_point stopped;
  {
    auto stopper = stop_when_waiting(source, stopped);
    expect_failure(write(source.get_token()), run_outcome::cancelled, none,
                   "was stopped");
  }
  CHECK_LT(test::clock_type::now() - stopped, 1s);
}

CAF_TEST(events that this client does not know) {
  anthropic_stream::text_listener nobody;
  anthropic_stream stream{nobody};
  CHECK(stream.feed(
    "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":"
    "\"thinking_delta\",\"thinking\":\"hm\"}}\n\n"
    "event: future\ndata: {\"type\":\"future\",\"text\":\"x\"}\n\n"
    "data: {}\n\ndata: []\n\ndata: 5\n\n"
    "data: {\"type\":\"message_delta\",\"delta\":null,\"usage\":[]}\n\n"));
  CHECK_EQ(stream.text(), "");
  CHECK(!stream.finished());
  CHECK(stream.nonsense().empty());
  CHECK(stream.feed("data: {\"type\":\"message_delta\",\"delta\":{\"stop_"
                    "reason\":\"end_turn\"},\"usage\":{\"output_tokens\":7}}"
                    "\n\ndata: {\"type\":\"message_delta\",\"delta\":{},"
                    "\"usage\":{\"output_tokens\":9,\"input_tokens\":-1}}\n\n"
                    "data: {\"type\":\"message_stop\"}\n\n"));
  CHECK(stream.finished());
  CHECK_EQ(stream.stop_reason(), "end_turn");
  // Cumulative, and no negative counts.
  CHECK_EQ(stream.used(), (usage{0, 9, 0}));
}

CAF_TEST_FIXTURE_SCOPE_END()
