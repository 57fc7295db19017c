// tests/unit/processors/openai_compatible.test.cpp -- chat completions and
// their faults, over real sockets.
#define CAF_SUITE processors.openai_compatible

#include "processors/ai/openai_compatible.hpp"

#include "processors/ai/completion_stream.hpp"
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
    return openai_compatible{options}.write(request, listen, std::move(stop));
  }

  provider_failure fault(nlohmann::json x, run_outcome kind, lane_effect lane,
                         std::string_view part) {
    MESSAGE("fault: " << x.dump());
    x["api"] = "chat";
    next(std::move(x));
    return expect_failure(write(), kind, lane, part);
  }

  openai_compatible_options options =
    options_for<openai_compatible_options>("llama-test");
  std::vector<std::string> heard;
};

} // namespace

CAF_TEST_FIXTURE_SCOPE(openai_compatible_tests, fixture)

CAF_TEST(a text comes in pieces) {
  auto got = write();
  REQUIRE(got.ok());
  auto& text = std::get<std::string>(got.result);
  CHECK_EQ(nlohmann::json::parse(text)["pages"].size(), 3u);
  std::string joined;
  for (auto& piece : heard)
    joined += piece;
  CHECK_EQ(joined, text);
  CHECK_GT(heard.size(), 5u);
  CHECK_EQ(got.model, "llama-test");
  CHECK_GT(got.used.input_tokens, 10u);
  CHECK_EQ(got.used.output_tokens, text.size() / 4 + 1);
  CHECK_EQ(*got.limits.requests, (rate_limit{10'000, 9'999, 6ms}));
  CHECK_EQ(*got.limits.input_tokens,
           (rate_limit{2'000'000, 1'999'000, 60'500ms}));
  CHECK_EQ(openai_compatible{options}.lane().name(),
           "openai-compatible/llama-test");
}

CAF_TEST(a server that does not stream) {
  options.model = "no-streaming";
  auto got = write();
  REQUIRE(got.ok());
  CHECK_EQ(heard.size(), 1u);
  CHECK_EQ(heard.at(0), std::get<std::string>(got.result));
  CHECK_EQ(got.model, "no-streaming");
  CHECK_GT(got.used.output_tokens, 10u);
  fault({{"kind", "max_tokens"}}, run_outcome::failed, none, "was cut");
}

CAF_TEST(no key is no header) {
  options.api_key.clear();
  CHECK(write().ok());
}

CAF_TEST(missing keys and money and models pause the lane) {
  auto pause = lane_effect::pause;
  fault({{"status", 429}, {"type", "insufficient_quota"}}, down, pause,
        "wants to be paid");
  fault({{"status", 403}}, down, pause, "refused our credentials");
  fault({{"status", 404}, {"body", "404 page not found"}}, down, pause,
        "is not known there");
  options.model = "no-such-model";
  expect_failure(write(), down, pause, "is not known there");
  options.api_key = "another-key-of-a-secret-kind";
  expect_failure(write(), down, pause, "HTTP 401");
}

CAF_TEST(statuses) {
  auto err = fault({{"status", 429}, {"headers", {{"Retry-After", "30"}}}},
                   run_outcome::throttled, lane_effect::throttle, "HTTP 429");
  CHECK(err.delay == 30s);
  for (auto code : {500, 502, 503, 504, 408})
    fault({{"status", code}}, down, lane_effect::outage,
          "HTTP " + std::to_string(code));
  fault({{"status", 400}, {"message", "no such argument"}},
        run_outcome::failed_permanently, none, "no such argument");
  options.url = "http://127.0.0.1:" + std::to_string(test::refusing_port());
  expect_failure(write(), down, lane_effect::outage, "No connection");
}

CAF_TEST(errors within a stream) {
  fault({{"kind", "error_event"}}, down, lane_effect::outage, "not available");
  fault({{"kind", "error_event"}, {"type", "rate_limit_exceeded"}},
        run_outcome::throttled, lane_effect::throttle, "fewer requests");
  fault({{"kind", "error_event"}, {"type", "insufficient_quota"}}, down,
        lane_effect::pause, "wants to be paid");
  CHECK_EQ(heard.size(), 2u);
}

CAF_TEST(a stream that is cut or silent) {
  for (auto after : {0, 1, 100, 700})
    fault({{"kind", "cut_stream"}, {"after", after}}, down, lane_effect::outage,
          "cut off");
  options.idle_timeout = 300ms;
  fault({{"kind", "hang"}}, down, lane_effect::outage, "in time");
}

CAF_TEST(answers of no use) {
  fault({{"kind", "wrong_json"}}, run_outcome::failed, none, "JSON");
  fault({{"kind", "max_tokens"}}, run_outcome::failed, none, "was cut");
  fault({{"kind", "empty_text"}}, run_outcome::failed, none, "is empty");
  fault({{"kind", "refusal"}}, run_outcome::failed_permanently, none,
        "refuses to write");
  for (auto body :
       {"<html>Welcome</html>", "{}", "{\"choices\":[]}", "{\"a\":"})
    fault({{"status", 200}, {"body", body}}, run_outcome::failed, none,
          "The answer of");
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

CAF_TEST(chunks of other servers) {
  completion_stream::text_listener nobody;
  completion_stream stream{nobody};
  CHECK(stream.feed(": OPENROUTER PROCESSING\n\n"
                    "data: {\"choices\":[{\"delta\":{\"content\":null}}]}\n\n"
                    "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},"
                    "\"finish_reason\":null}],\"usage\":null}\n\n"
                    "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n"
                    "data: [DONE]\n\n"));
  stream.end();
  CHECK_EQ(stream.text(), "a");
  CHECK_EQ(stream.finish_reason(), "stop");
  CHECK(stream.nonsense().empty());
  completion_stream refusal{nobody};
  CHECK(refusal.feed("data: {\"choices\":[{\"delta\":{\"refusal\":\"No.\"},"
                     "\"finish_reason\":\"stop\"}]}\n\n"));
  CHECK(refusal.refused());
}

CAF_TEST_FIXTURE_SCOPE_END()
