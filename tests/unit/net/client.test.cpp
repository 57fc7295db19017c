// tests/unit/net/client.test.cpp -- the client against a server that
// misbehaves on purpose.
#define CAF_SUITE net.client

#include "net/client.hpp"
#include "tests/unit/net/loopback_server.hpp"

#include <caf/test/dsl.hpp>

#include <cstdlib>
#include <future>

using namespace reeve::net;
using namespace reeve::net::test;
using namespace std::literals;

namespace {

using peer = loopback_server::peer;
using result_type = std::variant<http_response, client_failure>;
using clock_type = std::chrono::steady_clock;

loopback_server::script sends(std::string bytes) {
  return [bytes = std::move(bytes)](peer& x) { x.send(bytes); };
}

client_request to(std::string url) {
  client_request result;
  result.url = std::move(url);
  result.total_timeout = 20s;
  return result;
}

http_response response_of(const result_type& x) {
  if (auto* err = std::get_if<client_failure>(&x))
    CAF_FAIL("no response: " << err->message);
  return std::get<http_response>(x);
}

client_failure failure_of(const result_type& x) {
  if (auto* response = std::get_if<http_response>(&x))
    CAF_FAIL("an answer with status " << response->status);
  return std::get<client_failure>(x);
}

void check_failure(const result_type& x, client_error code) {
  auto err = failure_of(x);
  CAF_MESSAGE(err.message);
  CAF_CHECK_EQUAL(static_cast<int>(err.code), static_cast<int>(code));
}

// How a server that sends just `bytes` and closes fares.
result_type ask(std::string bytes) {
  loopback_server server{sends(std::move(bytes))};
  return send(to(server.url()), {});
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

using headers = std::vector<std::pair<std::string, std::string>>;

} // namespace

CAF_TEST(a request and its answer) {
  loopback_server server{
    sends("HTTP/1.1 201 Created\r\nX-One: a: b \r\nEmpty:\r\n"
          "Content-Length: 5\r\n\r\nhello")};
  auto request = to(server.url("/p?q=1"));
  request.headers = {{"Content-Type", "application/json"}, {"X-Empty", ""}};
  request.body = "{\0}"s;
  auto response = response_of(send(request, {}));
  CAF_CHECK_EQUAL(response.status, 201);
  CAF_CHECK_EQUAL(response.body, "hello");
  CAF_CHECK_EQUAL(
    response.headers,
    (headers{{"X-One", "a: b"}, {"Empty", ""}, {"Content-Length", "5"}}));
  auto sent = server.requests().at(0);
  CAF_CHECK_EQUAL(sent.substr(0, 22), "POST /p?q=1 HTTP/1.1\r\n");
  CAF_CHECK(contains(sent, "\r\nContent-Type: application/json\r\n"));
  CAF_CHECK(contains(sent, "\r\nX-Empty:\r\n"));
  CAF_CHECK(contains(sent, "\r\n\r\n{\0}"s));
  CAF_CHECK(!contains(sent, "Expect"));
  CAF_CHECK(!contains(sent, "Accept-Encoding"));
}

CAF_TEST(methods with and without a body) {
  loopback_server server{sends("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
                               "ok")};
  for (auto method : {"GET", "POST", "PUT", "DELETE", "PATCH"}) {
    auto request = to(server.url());
    request.method = method;
    CAF_CHECK_EQUAL(response_of(send(request, {})).body, "ok");
    auto sent = server.requests().back();
    CAF_CHECK_EQUAL(sent.substr(0, sent.find(' ')), method);
    CAF_CHECK(!contains(sent, "Content-Type"));
  }
  auto request = to(server.url());
  request.method = "HEAD";
  CAF_CHECK_EQUAL(response_of(send(request, {})).body, "");
}

CAF_TEST(answers that are no success are answers) {
  CAF_CHECK_EQUAL(response_of(ask("HTTP/1.1 503 Busy\r\nRetry-After: 3\r\n"
                                  "Content-Length: 0\r\n\r\n"))
                    .status,
                  503);
  CAF_CHECK_EQUAL(response_of(ask("HTTP/1.1 204 No Content\r\n\r\n")).status,
                  204);
  // The end of the connection is the end of this body.
  CAF_CHECK_EQUAL(response_of(ask("HTTP/1.0 200 OK\r\n\r\nabc")).body, "abc");
}

CAF_TEST(a redirect is not followed) {
  loopback_server server{sends("HTTP/1.1 302 Found\r\nLocation: /other\r\n"
                               "Content-Length: 0\r\n\r\n")};
  CAF_CHECK_EQUAL(response_of(send(to(server.url()), {})).status, 302);
  CAF_CHECK_EQUAL(server.requests().size(), 1u);
}

CAF_TEST(interim answers and trailers leave no fields behind) {
  auto response = response_of(
    ask("HTTP/1.1 103 Early\r\nX-Early: 1\r\n\r\nHTTP/1.1 200 OK\r\n"
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Late: 1\r\n"
        "\r\n"));
  CAF_CHECK_EQUAL(response.body, "abc");
  CAF_CHECK_EQUAL(response.headers,
                  (headers{{"Transfer-Encoding", "chunked"}}));
}

CAF_TEST(proxies of the environment are ignored) {
  auto nowhere = "http://127.0.0.1:" + std::to_string(closed_port());
  for (auto name : {"http_proxy", "all_proxy", "ALL_PROXY"})
    ::setenv(name, nowhere.c_str(), 1);
  auto result = ask("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  for (auto name : {"http_proxy", "all_proxy", "ALL_PROXY"})
    ::unsetenv(name);
  CAF_CHECK_EQUAL(response_of(result).status, 200);
}

CAF_TEST(nobody there is unreachable) {
  auto port = std::to_string(closed_port());
  auto result =
    send(to("http://user:secret@127.0.0.1:" + port + "/?key=hidden"), {});
  check_failure(result, client_error::unreachable);
  auto message = failure_of(result).message;
  CAF_CHECK(contains(message, "127.0.0.1:" + port));
  for (auto secret : {"user", "secret", "key", "hidden"})
    CAF_CHECK(!contains(message, secret));
  check_failure(send(to("http://name.invalid/"), {}),
                client_error::unreachable);
  // A server without TLS.
  loopback_server plain{sends("HTTP/1.1 400 Bad\r\n\r\n")};
  check_failure(
    send(to("https://127.0.0.1:" + std::to_string(plain.port())), {}),
    client_error::unreachable);
}

CAF_TEST(an answer that ends early is cut off) {
  for (auto bytes : {
         "",
         "HTTP/1.1 200",
         "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n",
         "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n",
         "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345",
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
         "no HTTP at all\r\n\r\n",
       })
    check_failure(ask(bytes), client_error::cut_off);
}

CAF_TEST(silence and slow bytes run into the timeout) {
  loopback_server silent{[](peer& x) { x.wait_for_close(); }};
  auto request = to(silent.url("/?key=hidden"));
  request.total_timeout = 200ms;
  auto began = clock_type::now();
  auto result = send(request, {});
  check_failure(result, client_error::timeout);
  CAF_CHECK(contains(failure_of(result).message, "200 ms"));
  CAF_CHECK(!contains(failure_of(result).message, "hidden"));
  loopback_server slow{[](peer& x) {
    x.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    while (!x.closes_within(10) && x.send("x"))
      ; // each byte alone is in time
  }};
  request.url = slow.url();
  check_failure(send(request, {}), client_error::timeout);
  CAF_CHECK_LESS(clock_type::now() - began, 10s);
}

CAF_TEST(a connection that does not come runs into its own timeout) {
  full_port port;
  auto request = to(port.url());
  request.connect_timeout = 200ms;
  auto result = send(request, {});
  // Not a timeout: nobody heard the request.
  check_failure(result, client_error::unreachable);
  CAF_CHECK(contains(failure_of(result).message, "no connection within"));
}

CAF_TEST(an answer over the limit is not read on) {
  auto limited = [](const std::string& url) {
    auto request = to(url);
    request.max_response_bytes = 1000;
    return send(request, {});
  };
  auto body = std::string(1000, 'x');
  loopback_server fits{
    sends("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + body)};
  CAF_CHECK_EQUAL(response_of(limited(fits.url())).body.size(), 1000u);
  loopback_server over{
    sends("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + body + "x")};
  check_failure(limited(over.url()), client_error::too_large);
  loopback_server endless{[](peer& x) {
    x.send("HTTP/1.1 200 OK\r\n\r\n");
    while (x.send("xxxxxxxxxxxxxxxx"))
      ; // until the client is gone
  }};
  check_failure(limited(endless.url()), client_error::too_large);
  loopback_server headers{[](peer& x) {
    x.send("HTTP/1.1 200 OK\r\n");
    while (x.send("X-More: xxxxxxxxxxxxxxxx\r\n"))
      ; // until the client is gone
  }};
  check_failure(limited(headers.url()), client_error::too_large);
}

CAF_TEST(a stop token ends the wait for the answer) {
  std::promise<void> seen;
  loopback_server server{[&seen](peer& x) {
    seen.set_value();
    x.wait_for_close();
  }};
  std::stop_source source;
  auto pending = std::async(std::launch::async, [&] {
    return send(to(server.url()), source.get_token());
  });
  seen.get_future().wait();
  CAF_CHECK(pending.wait_for(0s) == std::future_status::timeout);
  auto began = clock_type::now();
  source.request_stop();
  check_failure(pending.get(), client_error::cancelled);
  CAF_CHECK_LESS(clock_type::now() - began, 250ms);
}

CAF_TEST(a stop token ends the wait for a connection) {
  full_port port;
  std::stop_source source;
  auto pending = std::async(std::launch::async, [&] {
    return send(to(port.url()), source.get_token());
  });
  CAF_CHECK(pending.wait_for(100ms) == std::future_status::timeout);
  auto began = clock_type::now();
  source.request_stop();
  check_failure(pending.get(), client_error::cancelled);
  CAF_CHECK_LESS(clock_type::now() - began, 250ms);
  check_failure(send(to(port.url()), source.get_token()),
                client_error::cancelled);
}

CAF_TEST(requests that must not be sent) {
  loopback_server server{sends("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
                               "\r\n")};
  for (const auto& url :
       {""s, "/"s, "127.0.0.1"s, "127.0.0.1:80/"s, "ftp://127.0.0.1/"s,
        "file:///etc/passwd"s, "gopher://127.0.0.1/"s, "http://"s, "http:///"s,
        "http:127.0.0.1"s, "javascript:x"s, server.url("/a b"),
        server.url("/\r\nX: y"), server.url("/\n"), server.url("/\0x"s),
        "http://127.0.0.1:99999/"s, "http://127.0.0.1:x/"s,
        "http://127.0.0.1\r\n/"s})
    check_failure(send(to(url), {}), client_error::bad_request);
  for (const auto& [name, value] : headers{
         {"X", "a\r\nY: b"},
         {"X", "a\nb"},
         {"X", "a\0b"s},
         {"X\r\nY", "a"},
         {"X: y", "a"},
         {"", "a"},
         {"X y", "a"},
         {"Content-Length", "5"},
         {"transfer-encoding", "chunked"},
       }) {
    auto request = to(server.url());
    request.headers = {{name, value}};
    check_failure(send(request, {}), client_error::bad_request);
  }
  for (auto method : {"", "G T", "GET\r\nX: y"}) {
    auto request = to(server.url());
    request.method = method;
    check_failure(send(request, {}), client_error::bad_request);
  }
  CAF_CHECK_EQUAL(server.requests().size(), 0u);
}

CAF_TEST(many threads may send at once) {
  loopback_server server{sends("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
                               "ok")};
  std::vector<std::future<result_type>> pending;
  for (int i = 0; i < 8; ++i)
    pending.push_back(std::async(
      std::launch::async, [&server] { return send(to(server.url()), {}); }));
  for (auto& x : pending)
    CAF_CHECK_EQUAL(response_of(x.get()).body, "ok");
}

CAF_TEST(the time to retry after in seconds and in three kinds of dates) {
  using std::chrono::milliseconds;
  auto now = std::chrono::system_clock::from_time_t(784'111'717); // 08:48:37
  auto read = [now](const std::string& value) -> int64_t {
    auto result = retry_after({429, {{"retry-AFTER", value}}, ""}, now);
    return result ? result->count() : -1;
  };
  CAF_CHECK_EQUAL(read("0"), 0);
  CAF_CHECK_EQUAL(read(" 120\t"), 120'000);
  CAF_CHECK_EQUAL(read("86401"), 86'400'000);
  CAF_CHECK_EQUAL(read("99999999999999999999999"), 86'400'000);
  CAF_CHECK_EQUAL(read("Sun, 06 Nov 1994 08:49:37 GMT"), 60'000);
  CAF_CHECK_EQUAL(read("Sunday, 06-Nov-94 08:49:37 GMT"), 60'000);
  CAF_CHECK_EQUAL(read("Sun Nov  6 08:49:37 1994"), 60'000);
  CAF_CHECK_EQUAL(read("Sun, 06 Nov 1994 08:00:00 GMT"), 0);
  CAF_CHECK_EQUAL(read("Sun, 06 Nov 2094 08:00:00 GMT"), 86'400'000);
  for (auto bad : {"", " ", "-5", "+5", "1.5", "1e3", "5s", "0x10", "soon",
                   "Sun, 99 Nov 1994 08:49:37 GMT", "5 5", "\xff", "Sun"})
    CAF_CHECK_EQUAL(read(bad), -1);
  CAF_CHECK(!retry_after({429, {}, ""}, now));
}
