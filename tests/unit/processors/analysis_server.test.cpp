// tests/unit/processors/analysis_server.test.cpp -- what each fault of the
// service counts as, over real sockets.
#define CAF_SUITE processors.analysis_server

#include "processors/ai/analysis_server.hpp"
#include "processors/text/plain_text.hpp"
#include "tests/unit/net/loopback_server.hpp"
#include "tests/unit/processors/fake_server.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <chrono>
#include <memory>
#include <thread>

using namespace reeve;
using namespace std::literals;

namespace {

using answer = provider_answer<analysis>;
using clock_type = std::chrono::steady_clock;

struct fixture {
  // One server for all tests: starting Python takes longer than they do.
  static test::fake_server& server() {
    static test::fake_server instance;
    return instance;
  }

  fixture() {
    options.url = server().url();
    options.connect_timeout = 5s;
    options.total_timeout = 20s;
  }

  answer ask(std::string text, std::stop_token stop = {}) {
    scrap x;
    x.content = std::move(text);
    return analysis_server{options}.analyze(x, std::move(stop));
  }

  provider_failure fail(const std::string& text, std::stop_token stop = {}) {
    auto got = ask(text, std::move(stop));
    auto* err = std::get_if<provider_failure>(&got.result);
    if (err == nullptr)
      CAF_FAIL("an analysis instead of a failure for " << text);
    return *err;
  }

  // The message names the service and is one sentence in one line.
  provider_failure expect_fault(const std::string& mode, run_outcome kind,
                                std::string_view part) {
    MESSAGE("mode: " << mode);
    auto err = fail("!fault " + mode + "\nThe secret words of a scrap.");
    CHECK_EQ(std::string{to_string(err.kind)}, std::string{to_string(kind)});
    if (kind == run_outcome::throttled)
      CHECK(err.lane == lane_effect::throttle);
    if (kind == run_outcome::failed || kind == run_outcome::failed_permanently)
      CHECK(err.lane == lane_effect::none);
    check_message(err.message, server().authority());
    if (err.message.find(part) == std::string::npos)
      CAF_FAIL("expected '" << std::string{part} << "' in: " << err.message);
    return err;
  }

  void check_message(const std::string& message, const std::string& name) {
    MESSAGE("message: " << message);
    CHECK_NE(message.find("analysis server " + name), std::string::npos);
    CHECK_EQ(message.find('\n'), std::string::npos);
    CHECK_EQ(message.find("secret"), std::string::npos);
    CHECK_LE(text::code_points(message), 500u);
  }

  analysis_server_options options;
};

} // namespace

CAF_TEST_FIXTURE_SCOPE(analysis_server_tests, fixture)

// -- nobody there -------------------------------------------------------------

CAF_TEST(a refused connection is an outage) {
  auto name = "127.0.0.1:" + std::to_string(test::refusing_port());
  options.url = "http://user:secret@" + name + "/base/?key=secret";
  options.api_key = "secret";
  auto err = fail("A text.");
  CHECK(err.kind == run_outcome::provider_down);
  CHECK(err.lane == lane_effect::outage);
  check_message(err.message, name);
}

CAF_TEST(an unknown host is an outage) {
  options.url = "http://no-such-host.invalid";
  auto err = fail("A text.");
  CHECK(err.kind == run_outcome::provider_down);
  check_message(err.message, "no-such-host.invalid:80");
}

CAF_TEST(an unusable URL or key is for the operator to mend) {
  options.url = "ftp://127.0.0.1:1/secret";
  auto err = fail("A text.");
  CHECK(err.kind == run_outcome::provider_down);
  CHECK(err.lane == lane_effect::pause);
  check_message(err.message, "127.0.0.1:1");
  options.url = server().url();
  options.api_key = "secret\r\nX-Forged: 1";
  err = fail("A text.");
  CHECK(err.kind == run_outcome::provider_down);
  check_message(err.message, server().authority());
}

// -- connections --------------------------------------------------------------

CAF_TEST(a broken connection is an outage) {
  for (auto mode : {"cut", "cut_head", "reset", "garbage"})
    CHECK(expect_fault(mode, run_outcome::provider_down, "cut off").lane
          == lane_effect::outage);
}

CAF_TEST(silence is an outage after the timeout) {
  options.total_timeout = 300ms;
  auto start = clock_type::now();
  expect_fault("hang", run_outcome::provider_down, "in time");
  CHECK_GE(clock_type::now() - start, 300ms);
  // Bytes that trickle in do not extend it.
  expect_fault("slow", run_outcome::provider_down, "in time");
}

CAF_TEST(a slow answer in time is an answer) {
  auto got = ask("!fault slow;interval=0.001\nA text.");
  CHECK(got.ok());
}

CAF_TEST(a stop ends the wait) {
  std::stop_source source;
  std::jthread stopper{[&source] {
    // Not before the request is there.
    auto is_waiting = [] {
      auto calls = server().calls();
      return !calls.empty() && calls.back()["mode"] == "hang"
        && calls.back()["ended"].is_null();
    };
    while (!is_waiting())
      std::this_thread::yield();
    source.request_stop();
  }};
  auto err = fail("!fault hang\nA text to be stopped.", source.get_token());
  CHECK(err.kind == run_outcome::cancelled);
  check_message(err.message, server().authority());
}

CAF_TEST(a stop before the start sends nothing) {
  std::stop_source source;
  source.request_stop();
  auto before = server().calls().size();
  CHECK(fail("A text.", source.get_token()).kind == run_outcome::cancelled);
  CHECK_EQ(server().calls().size(), before);
}

// -- statuses -----------------------------------------------------------------

CAF_TEST(overload and server errors are outages) {
  for (auto status : {500, 501, 502, 503, 504, 529, 599, 408, 425}) {
    auto http = "HTTP " + std::to_string(status);
    auto err = expect_fault("http:" + std::to_string(status),
                            run_outcome::provider_down, http);
    CHECK(!err.delay);
    CHECK(err.lane == lane_effect::outage);
  }
  auto err = expect_fault("http:503;retry-after=17", run_outcome::provider_down,
                          "HTTP 503");
  CHECK(err.delay == 17s);
}

CAF_TEST(too many requests are throttled) {
  auto err =
    expect_fault("http429;retry-after=42", run_outcome::throttled, "HTTP 429");
  CHECK(err.delay == 42s);
  err = expect_fault("http:429", run_outcome::throttled, "HTTP 429");
  CHECK(!err.delay);
  err = expect_fault("http429;retry-after=soon", run_outcome::throttled,
                     "HTTP 429");
  CHECK(!err.delay);
}

CAF_TEST(refused credentials spend no attempt) {
  options.api_key = "secret";
  for (auto status : {"401", "403"}) {
    auto err = expect_fault("http:"s + status, run_outcome::provider_down,
                            "refused our credentials (HTTP "s + status);
    CHECK(!err.delay);
    CHECK(err.lane == lane_effect::pause);
  }
  auto err =
    expect_fault("http:402", run_outcome::provider_down, "wants to be paid");
  CHECK(err.lane == lane_effect::pause);
}

CAF_TEST(a wrong URL is for the operator to mend) {
  for (auto mode : {"http:404", "http:405", "redirect", "http:300", "http:304",
                    "http:307"}) {
    auto err = expect_fault(mode, run_outcome::provider_down,
                            "check the configured URL");
    CHECK(err.lane == lane_effect::pause);
  }
  CHECK_NE(expect_fault("http:404", run_outcome::provider_down, "HTTP 404")
             .message.find("status 404 on command"),
           std::string::npos);
}

CAF_TEST(other client errors are permanent and explained) {
  for (auto status : {400, 409, 410, 413, 415, 418, 422, 451}) {
    auto text = std::to_string(status);
    expect_fault("http:" + text, run_outcome::failed_permanently,
                 "status " + text + " on command");
  }
}

CAF_TEST(an explanation is cut and cannot forge lines) {
  // Encoded, since an explanation that stands in the text is left out.
  std::string mode = "http:400;detail=";
  for (int i = 0; i < 300; ++i)
    mode += "%78";
  auto err = fail("!fault " + mode + "\nA text.");
  CHECK_NE(err.message.find(": " + std::string(200, 'x') + "..."),
           std::string::npos);
  CHECK_EQ(err.message.find(std::string(201, 'x')), std::string::npos);
  err = fail("!fault http:400;detail=a%0Ab%E2%80%A8c%07d\nA text.");
  CHECK_EQ(err.message.substr(err.message.size() - 7), "a b c d");
}

CAF_TEST(an explanation that quotes the text is left out) {
  auto err = expect_fault("http:422;detail=@text",
                          run_outcome::failed_permanently, "is left out");
  CHECK_EQ(err.message.find("words"), std::string::npos);
}

CAF_TEST(redirects are not followed) {
  auto before = server().calls().size();
  auto err = expect_fault("redirect", run_outcome::provider_down, "redirects");
  CHECK_NE(err.message.find("HTTP 302"), std::string::npos);
  CHECK_EQ(server().calls().size(), before + 1);
}

// -- answers ------------------------------------------------------------------

CAF_TEST(answers of the wrong form may be better next time) {
  expect_fault("not_json", run_outcome::failed, "JSON");
  expect_fault("wrong_shape", run_outcome::failed, "`summary`");
  expect_fault("empty_summary", run_outcome::failed, "empty `summary`");
  expect_fault("http:204", run_outcome::failed, "JSON");
  expect_fault("http:200", run_outcome::failed, "`summary`");
  expect_fault("http:999", run_outcome::failed, "HTTP 999");
}

CAF_TEST(an answer that ends with its connection may be cut) {
  auto whole = R"({"summary":"Bark.","tags":["cork"],"embedding":[0.6,0.8]})"s;
  std::string bytes;
  net::test::loopback_server peer{[&bytes](auto& x) { x.send(bytes); }};
  options.url = peer.url("");
  auto say = [&](const std::string& fields, const std::string& body) {
    bytes = "HTTP/1.1 200 OK\r\n" + fields + "Connection: close\r\n\r\n" + body;
  };
  // Wherever it is cut, the service is at fault.
  for (size_t i = 0; i < whole.size(); ++i) {
    say("", whole.substr(0, i));
    auto err = fail("A secret.");
    CHECK(err.kind == run_outcome::provider_down);
    CHECK(err.lane == lane_effect::outage);
    CHECK_NE(err.message.find("cut off"), std::string::npos);
  }
  say("", whole);
  CHECK(ask("A text.").ok());
  // Not cut, but of no use.
  say("", "{}");
  CHECK(fail("A text.").kind == run_outcome::failed);
  auto half = whole.substr(0, 20);
  say("Content-Length: 20\r\n", half);
  CHECK(fail("A text.").kind == run_outcome::failed);
  say("Transfer-Encoding: chunked\r\n", "14\r\n" + half + "\r\n0\r\n\r\n");
  auto err = fail("A text.");
  CHECK(err.kind == run_outcome::failed);
  CHECK(err.lane == lane_effect::none);
}

CAF_TEST(an answer has a size limit) {
  options.max_response_bytes = 100'000;
  expect_fault("huge;bytes=100001", run_outcome::failed, "too large");
  auto got = ask("!fault huge;bytes=99000\nA text.");
  CHECK(got.ok());
}

CAF_TEST(a good answer is an analysis) {
  options.url += "///";
  options.api_key = "k-123";
  scrap x;
  x.content = "Cork is bark. It grows back.";
  x.title = "\ucf54\ub974\ud06c";
  x.url = "https://example.org/";
  auto got = analysis_server{options}.analyze(x, {});
  auto* result = std::get_if<analysis>(&got.result);
  REQUIRE(result != nullptr);
  CHECK_EQ(result->summary, "Cork is bark.");
  CHECK_EQ(result->tags, (std::vector<std::string>{"Cork", "is", "bark"}));
  CHECK_EQ(result->embedding.size(), 16u);
  CHECK_EQ(result->model, "fake-1");
  CHECK_EQ(got.model, "fake-1");
  CHECK_EQ(got.used, (usage{6, 2, 0}));
  auto call = server().calls().back();
  CHECK_EQ(call["authorization"].get<std::string>(), "Bearer k-123");
  CHECK_EQ(call["title"].get<std::string>(), *x.title);
}

CAF_TEST(the lane is the service) {
  options.url = "http://user:secret@EXAMPLE.org/base";
  CHECK_EQ(analysis_server{options}.lane().name(),
           "analysis-server/EXAMPLE.org:80");
}

CAF_TEST(an embedding alone) {
  auto text = "Cork is bark. It grows back.";
  auto got = analysis_server{options}.embed(text, {});
  auto* numbers = std::get_if<std::vector<float>>(&got.result);
  REQUIRE(numbers != nullptr);
  CHECK_EQ(got.model, "fake-1");
  CHECK_EQ(got.used.input_tokens, 6u);
  CHECK_EQ(server().calls().back()["path"].get<std::string>(), "/embed");
  // Comparable with those of cards.
  auto whole = ask(text);
  CHECK_EQ(*numbers, std::get<analysis>(whole.result).embedding);
}

CAF_TEST(an embedding that does not come) {
  auto kind_of = [this](std::string mode) {
    auto got =
      analysis_server{options}.embed("!fault " + mode + "\nA secret.", {});
    auto* err = std::get_if<provider_failure>(&got.result);
    if (err == nullptr)
      CAF_FAIL("an embedding for " << mode);
    check_message(err->message, server().authority());
    return err->kind;
  };
  CHECK(kind_of("http:500") == run_outcome::provider_down);
  CHECK(kind_of("cut") == run_outcome::provider_down);
  CHECK(kind_of("http:429") == run_outcome::throttled);
  CHECK(kind_of("http:422") == run_outcome::failed_permanently);
  CHECK(kind_of("not_json") == run_outcome::failed);
  CHECK(kind_of("wrong_shape") == run_outcome::failed);
}

CAF_TEST(no key means no header) {
  CHECK(ask("A text.").ok());
  auto call = server().calls().back();
  CHECK(call["authorization"].is_null());
  CHECK(call["title"].is_null());
}

CAF_TEST(ill formed text is sent repaired) {
  CHECK(ask("bad \xFF byte").ok());
}

CAF_TEST_FIXTURE_SCOPE_END()
