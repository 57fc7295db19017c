// tests/unit/processors/webhook.test.cpp -- jobs told to services, over real
// sockets.
#define CAF_SUITE processors.webhook

#include "processors/webhook.hpp"

#include "processors/webhook_redirect.hpp"
#include "processors/webhook_signature.hpp"
#include "tests/unit/net/loopback_server.hpp"
#include "tests/unit/processors/fake_context.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <stdexcept>
#include <thread>

using namespace reeve;
using namespace std::literals;

namespace {

using net::test::loopback_server;

std::string answer(std::string status, std::string body,
                   const std::string& headers = {}) {
  return "HTTP/1.1 " + std::move(status)
    + "\r\nContent-Length: " + std::to_string(body.size())
    + "\r\nConnection: close\r\n" + headers + "\r\n" + std::move(body);
}

// The value of a header in a request as it was sent.
std::string header(const std::string& request, const std::string& name) {
  auto i = request.find("\r\n" + name + ": ");
  if (i == std::string::npos)
    return {};
  i += name.size() + 4;
  return request.substr(i, request.find("\r\n", i) - i);
}

std::string body_of(const std::string& request) {
  return request.substr(request.find("\r\n\r\n") + 4);
}

struct fixture {
  fixture() : context("MAIL", "target-1") {
    context.job_.payload = {{"to", "caf\u00e9"}};
  }

  outcome call(const std::string& url) {
    auto x = options;
    x.url = url;
    x.allow_private = true;
    webhook uut{x};
    return context.run(uut);
  }

  // Runs the job against a server that says one thing.
  outcome call_with(const std::string& bytes) {
    loopback_server server{[&](auto& peer) { peer.send(bytes); }};
    auto got = call(server.url("/hook"));
    requests = server.requests();
    return got;
  }

  test::fake_context context;
  webhook_options options;
  std::vector<std::string> requests;
};

} // namespace

CAF_TEST_FIXTURE_SCOPE(webhook_tests, fixture)

CAF_TEST(the request says which job it is) {
  context.job_.run = 6;
  context.job_.attempts = 1;
  auto got = call_with(answer("200 OK", R"({"sent":true})"));
  REQUIRE(got.kind == run_outcome::completed);
  CHECK(got.result == nlohmann::json({{"sent", true}}));
  REQUIRE_EQ(requests.size(), 1u);
  const auto& sent = requests.front();
  CHECK(sent.starts_with("POST /hook HTTP/1.1\r\n"));
  CHECK_EQ(header(sent, "Content-Type"), "application/json");
  CHECK_EQ(header(sent, "Reeve-Job-Id"), context.job_.id);
  CHECK_EQ(header(sent, "Reeve-Attempt"), "2");
  CHECK_EQ(header(sent, "Idempotency-Key"), context.job_.id);
  CHECK_EQ(header(sent, "webhook-id"), context.job_.id);
  CHECK(header(sent, "webhook-signature").empty());
  CHECK(nlohmann::json::parse(body_of(sent))
        == nlohmann::json({{"id", context.job_.id},
                           {"type", "MAIL"},
                           {"target_id", "target-1"},
                           {"user_id", "user-1"},
                           {"payload", {{"to", "caf\u00e9"}}},
                           {"attempt", 2},
                           {"run", 7}}));
}

CAF_TEST(a trace goes on as a span of this run) {
  const std::string came =
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  context.job_.trace = {came, "congo=t61"};
  call_with(answer("200 OK", "{}"));
  REQUIRE_EQ(requests.size(), 1u);
  const auto sent = header(requests.front(), "traceparent");
  CHECK_EQ(sent, context.trace().parent);
  CHECK_EQ(sent.substr(0, 36), came.substr(0, 36));
  CHECK_NE(sent.substr(36, 16), came.substr(36, 16));
  CHECK_EQ(header(requests.front(), "tracestate"), "congo=t61");
}

CAF_TEST(a job without a trace starts none) {
  call_with(answer("200 OK", "{}"));
  REQUIRE_EQ(requests.size(), 1u);
  CHECK_EQ(requests.front().find("trace"), std::string::npos);
}

CAF_TEST(a retry is known by its key) {
  loopback_server server{
    [](auto& peer) { peer.send(answer("500 Oops", "no")); }};
  options.url = server.url();
  options.allow_private = true;
  context.job_.user_id.reset();
  webhook uut{options};
  context.run(uut);
  context.run(uut);
  auto sent = server.requests();
  REQUIRE_EQ(sent.size(), 2u);
  CHECK_EQ(header(sent[0], "Idempotency-Key"),
           header(sent[1], "Idempotency-Key"));
  CHECK_EQ(header(sent[1], "Reeve-Attempt"), "2");
  CHECK(nlohmann::json::parse(body_of(sent[1]))["user_id"].is_null());
}

CAF_TEST(signatures are those of the specification) {
  // The example of Standard Webhooks' own libraries.
  auto key = webhook_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  REQUIRE(key.has_value());
  CHECK_EQ(webhook_signature(*key, "msg_p5jXN8AQM9LWM0D4loKWxJek",
                             std::chrono::sys_seconds{1'614'265'330s},
                             R"({"test": 2432232314})"),
           "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  CHECK_EQ(webhook_key("plain secret").value_or(""), "plain secret");
  CHECK_EQ(webhook_key("whsec_AAA=").value_or(""), "\0\0"s);
  for (auto bad : {"whsec_", "whsec_a", "whsec_!!!!", "whsec_AAAA AAAA"})
    CHECK(!webhook_key(bad));
}

CAF_TEST(the signature is over what was really sent) {
  options.secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  call_with(answer("204 No Content", ""));
  REQUIRE_EQ(requests.size(), 1u);
  const auto& sent = requests.front();
  auto when = std::chrono::sys_seconds{
    std::chrono::seconds{std::stoll(header(sent, "webhook-timestamp"))}};
  CHECK(std::chrono::abs(std::chrono::system_clock::now() - when) < 60s);
  CHECK_EQ(header(sent, "webhook-signature"),
           webhook_signature(*webhook_key(options.secret),
                             header(sent, "webhook-id"), when, body_of(sent)));
  CHECK_EQ(sent.find("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), std::string::npos);
}

CAF_TEST(whatever a 2xx answer says is the result) {
  auto result = [this](const std::string& body) {
    auto got = call_with(answer("200 OK", body));
    CHECK(got.kind == run_outcome::completed);
    return got.result;
  };
  CHECK(result("").is_null());
  CHECK(result("null").is_null());
  CHECK(result("7") == nlohmann::json(7));
  CHECK(result("sent") == nlohmann::json({{"body", "sent"}}));
  CHECK(result("{\"a\":1") == nlohmann::json({{"body", "{\"a\":1"}}));
  CHECK(result("\xFF\xFE") == nlohmann::json({{"bytes", 2}}));
  CHECK(result("a\0b"s) == nlohmann::json({{"bytes", 3}}));
  // JSON that no store could keep is some text.
  CHECK(result(R"("a\u0000b")") == nlohmann::json({{"body", R"("a\u0000b")"}}));
  CHECK(result(std::string(5'000, '['))["body"].is_string());
}

CAF_TEST(a refusal is the jobs failure for good) {
  for (auto status : {"400 Bad Request", "401 Unauthorized", "404 Not Found",
                      "410 Gone", "422 Unprocessable Content"}) {
    auto got = call_with(answer(status, "line one\nline two \xFF"));
    CHECK(got.kind == run_outcome::failed_permanently);
    CHECK_EQ(got.message,
             "The webhook answered " + std::string{status}.substr(0, 3)
               + ": line one line two \uFFFD");
  }
  auto got = call_with(answer("400 Bad Request", std::string(10'000, 'x')));
  CHECK(got.message.size() < 400);
}

CAF_TEST(a service in trouble is tried again) {
  for (auto status : {"500 Oops", "501 Not Implemented", "507 Full", "599 Odd",
                      "408 Request Timeout", "425 Too Early"}) {
    auto got = call_with(answer(status, ""));
    CHECK(got.kind == run_outcome::failed);
    CHECK(!got.delay);
  }
  auto got = call_with(answer("500 Oops", "", "Retry-After: 90\r\n"));
  CHECK(got.kind == run_outcome::failed);
  CHECK(got.delay == 90s);
}

CAF_TEST(a gateway without its service spends no attempt) {
  for (auto status : {"502 Bad Gateway", "503 Unavailable", "504 Timeout"}) {
    auto got = call_with(answer(status, "no\nservice"));
    CHECK(got.kind == run_outcome::provider_down);
    CHECK(!got.delay);
    CHECK_EQ(got.message,
             "The webhook answered " + std::string{status}.substr(0, 3)
               + ": no service");
  }
  for (auto status : {"502 Bad Gateway", "504 Timeout"}) {
    auto got = call_with(answer(status, "", "Retry-After: 90\r\n"));
    CHECK(got.kind == run_outcome::provider_down);
    CHECK(got.delay == 90s);
  }
}

CAF_TEST(a service that asks for time gets it) {
  auto got = call_with(answer("429 Too Many Requests", ""));
  CHECK(got.kind == run_outcome::throttled);
  CHECK(!got.delay);
  for (auto status : {"429 Too Many Requests", "503 Unavailable"}) {
    got = call_with(answer(status, "", "retry-after: 30\r\n"));
    CHECK(got.kind == run_outcome::throttled);
    CHECK(got.delay == 30s);
  }
}

CAF_TEST(a service that is not there spends no attempt) {
  auto down = run_outcome::provider_down;
  auto got =
    call("http://127.0.0.1:" + std::to_string(net::test::closed_port()) + "/");
  CHECK(got.kind == down);
  CHECK_NE(got.message.find("was not delivered"), std::string::npos);
  CHECK(call("http://no-such-host.invalid/").kind == down);
  CHECK(call_with("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort").kind
        == down);
  CHECK(call_with("").kind == down);
  net::test::full_port full;
  options.connect_timeout = 100ms;
  CHECK(call(full.url()).kind == down);
}

CAF_TEST(a service that is silent is given up) {
  options.timeout = 200ms;
  loopback_server server{[](auto& peer) { peer.wait_for_close(); }};
  auto begin = std::chrono::steady_clock::now();
  auto got = call(server.url());
  CHECK(got.kind == run_outcome::failed);
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
}

CAF_TEST(a stop ends the call) {
  loopback_server server{[this](auto& peer) {
    context.source.request_stop();
    peer.wait_for_close();
  }};
  auto begin = std::chrono::steady_clock::now();
  CHECK(call(server.url()).kind == run_outcome::cancelled);
  CHECK(std::chrono::steady_clock::now() - begin < 1s);
}

CAF_TEST(an answer has a limit) {
  options.max_response_bytes = 1'000;
  CHECK(call_with(answer("200 OK", std::string(1'000, 'x'))).kind
        == run_outcome::completed);
  CHECK(call_with(answer("200 OK", std::string(1'001, 'x'))).kind
        == run_outcome::failed_permanently);
}

CAF_TEST(addresses that are not public must be allowed) {
  loopback_server server{[](auto& peer) { peer.send(answer("200 OK", "")); }};
  for (const auto& url :
       {server.url(), "http://localhost:" + std::to_string(server.port()) + "/",
        "http://[::ffff:127.0.0.1]:" + std::to_string(server.port()) + "/"}) {
    options.url = url;
    webhook uut{options};
    auto got = context.run(uut);
    CHECK(got.kind == run_outcome::failed_permanently);
    CHECK_NE(got.message.find("(types.MAIL.addresses = \"any\" permits"),
             std::string::npos);
  }
  CHECK(server.requests().empty());
}

CAF_TEST(redirects on the same host are followed) {
  auto count = 0;
  loopback_server server{[&count](auto& peer) {
    if (++count < 4)
      peer.send(answer("307 Temporary Redirect", "", "Location: next?a=1\r\n"));
    else
      peer.send(answer("200 OK", "7"));
  }};
  options.secret = "secret";
  auto got = call(server.url("/a/b"));
  REQUIRE(got.kind == run_outcome::completed);
  CHECK(got.result == nlohmann::json(7));
  auto sent = server.requests();
  REQUIRE_EQ(sent.size(), 4u);
  CHECK(sent[3].starts_with("POST /a/next?a=1 HTTP/1.1\r\n"));
  CHECK_EQ(body_of(sent[3]), body_of(sent[0]));
  CHECK_EQ(header(sent[3], "webhook-signature"),
           header(sent[0], "webhook-signature"));
}

CAF_TEST(redirects have an end) {
  loopback_server server{[](auto& peer) {
    peer.send(answer("308 Permanent Redirect", "", "Location: /again\r\n"));
  }};
  auto got = call(server.url());
  CHECK(got.kind == run_outcome::failed_permanently);
  CHECK_EQ(got.message, "The webhook answered 308 after 3 redirects");
  CHECK_EQ(server.requests().size(), 4u);
}

CAF_TEST(redirects share the time of the call) {
  options.timeout = 300ms;
  loopback_server server{[](auto& peer) {
    peer.send("HTTP/1.1 307 Temporary Redirect\r\nLocation: /again\r\n"
              "Content-Length: 9\r\n\r\n");
    peer.wait_for_close();
  }};
  CHECK(call(server.url()).kind == run_outcome::failed);
  CHECK_EQ(server.requests().size(), 1u);
}

CAF_TEST(no redirect leads elsewhere) {
  loopback_server other{[](auto& peer) { peer.send(answer("200 OK", "")); }};
  for (const auto& location :
       {other.url(), "//127.0.0.1:" + std::to_string(other.port()) + "/",
        "https://127.0.0.1/"s, "file:///etc/passwd"s, ""s,
        "http://localhost/"s}) {
    auto got = call_with(
      answer("307 Temporary Redirect", "", "Location: " + location + "\r\n"));
    CHECK(got.kind == run_outcome::failed_permanently);
  }
  CHECK(other.requests().empty());
  for (auto status : {"301 Moved", "302 Found", "303 See Other", "300 Many",
                      "304 Not Modified"}) {
    auto got = call_with(answer(status, "", "Location: /next\r\n"));
    CHECK(got.kind == run_outcome::failed_permanently);
    CHECK_EQ(requests.size(), 1u);
  }
}

CAF_TEST(the same origin has many spellings) {
  auto base = "http://Example.com/a/b?c"s;
  CHECK_EQ(same_origin_target(base, "/x").value_or(""), "http://Example.com/x");
  CHECK_EQ(same_origin_target(base, "x").value_or(""),
           "http://Example.com/a/x");
  CHECK(same_origin_target(base, "http://example.com:80/x").has_value());
  CHECK(same_origin_target(base, "HTTP://EXAMPLE.COM/x").has_value());
  for (auto bad : {"https://example.com/", "http://example.com:81/",
                   "http://example.com.evil.org/", "//evil.org/",
                   "http://evil.org@example.org/", "javascript:alert(1)",
                   "http://example.com@evil.org/", "/a\r\nX: y", ""})
    CHECK(!same_origin_target(base, bad));
}

CAF_TEST(what cannot be called is refused at start) {
  for (auto bad : {"", "ftp://example.com/", "example.com/hook", "http://",
                   "file:///x", "http://a b/", "http://a/\r\nX: y"}) {
    options.url = bad;
    CHECK_THROWS_AS(webhook{options}, std::invalid_argument);
  }
  options.url = "https://example.com/hook";
  options.secret = "whsec_not base64";
  CHECK_THROWS_AS(webhook{options}, std::invalid_argument);
}

CAF_TEST_FIXTURE_SCOPE_END()
