// tests/unit/net/client_stream.test.cpp -- answers that are read as they come,
// silence, and addresses that are not public.
#define CAF_SUITE net.client_stream

#include "net/client.hpp"
#include "tests/unit/net/loopback_server.hpp"

#include <caf/test/dsl.hpp>

#include <atomic>
#include <future>
#include <stdexcept>

using namespace reeve::net;
using namespace reeve::net::test;
using namespace std::literals;

namespace {

using peer = loopback_server::peer;
using result_type = std::variant<http_response, client_failure>;
using clock_type = std::chrono::steady_clock;

constexpr auto head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

client_request to(std::string url) {
  client_request result;
  result.url = std::move(url);
  result.total_timeout = 20s;
  return result;
}

loopback_server::script sends(std::string bytes) {
  return [bytes = std::move(bytes)](peer& x) { x.send(bytes); };
}

void check_failure(const result_type& x, client_error code,
                   std::string_view part = {}) {
  auto* err = std::get_if<client_failure>(&x);
  if (err == nullptr)
    CAF_FAIL("an answer instead of a failure");
  CAF_MESSAGE(err->message);
  CAF_CHECK_EQUAL(static_cast<int>(err->code), static_cast<int>(code));
  CAF_CHECK(err->message.find(part) != std::string::npos);
}

} // namespace

CAF_TEST(a body is heard piece by piece before it ends) {
  // The server goes on when the client has heard what was sent.
  std::promise<void> heard;
  loopback_server server{[&heard](peer& x) {
    x.send(head);
    x.send("3\r\nabc\r\n");
    heard.get_future().wait();
    x.send("2\r\nde\r\n0\r\n\r\n");
  }};
  std::string body;
  auto request = to(server.url());
  request.on_body = [&](std::string_view piece) {
    body += piece;
    if (body == "abc")
      heard.set_value();
    return true;
  };
  auto got = send(request, {});
  auto* response = std::get_if<http_response>(&got);
  CAF_REQUIRE(response != nullptr);
  CAF_CHECK_EQUAL(response->status, 200);
  CAF_CHECK_EQUAL(response->body, "");
  CAF_CHECK_EQUAL(body, "abcde");
}

CAF_TEST(the body of an error is not heard but kept) {
  loopback_server server{
    sends("HTTP/1.1 429 Slow down\r\nContent-Length: 4\r\n\r\nwait")};
  auto request = to(server.url());
  auto heard = 0;
  request.on_body = [&heard](std::string_view) { return ++heard > 0; };
  auto got = send(request, {});
  auto* response = std::get_if<http_response>(&got);
  CAF_REQUIRE(response != nullptr);
  CAF_CHECK_EQUAL(response->status, 429);
  CAF_CHECK_EQUAL(response->body, "wait");
  CAF_CHECK_EQUAL(heard, 0);
}

CAF_TEST(a listener can end the request) {
  loopback_server server{[](peer& x) {
    x.send(head);
    while (x.send("1\r\nx\r\n"))
      ; // until the client is gone
  }};
  auto request = to(server.url());
  request.on_body = [](std::string_view) { return false; };
  check_failure(send(request, {}), client_error::cancelled, "not read");
}

CAF_TEST(what a listener throws comes out) {
  loopback_server server{sends(std::string{head} + "1\r\nx\r\n0\r\n\r\n")};
  auto request = to(server.url());
  request.on_body = [](std::string_view) -> bool {
    throw std::range_error("thrown on purpose");
  };
  CAF_CHECK_THROWS_AS(send(request, {}), std::range_error);
}

CAF_TEST(a heard body has the same limit) {
  loopback_server server{[](peer& x) {
    x.send(head);
    while (x.send("10\r\nxxxxxxxxxxxxxxxx\r\n"))
      ; // until the client is gone
  }};
  auto request = to(server.url());
  request.max_response_bytes = 1000;
  size_t heard = 0;
  request.on_body = [&heard](std::string_view piece) {
    heard += piece.size();
    return true;
  };
  check_failure(send(request, {}), client_error::too_large);
  CAF_CHECK_LESS_OR_EQUAL(heard, 1000u);
}

CAF_TEST(a heard body that is cut is cut off) {
  loopback_server server{sends(std::string{head} + "3\r\nabc\r\n")};
  std::string body;
  auto request = to(server.url());
  request.on_body = [&body](std::string_view piece) {
    body += piece;
    return true;
  };
  check_failure(send(request, {}), client_error::cut_off);
  CAF_CHECK_EQUAL(body, "abc");
}

CAF_TEST(silence ends the request long before its total timeout) {
  auto began = clock_type::now();
  loopback_server silent{[](peer& x) { x.wait_for_close(); }};
  auto request = to(silent.url());
  request.idle_timeout = 200ms;
  check_failure(send(request, {}), client_error::timeout, "no byte within 200");
  loopback_server stalled{[](peer& x) {
    x.send(head);
    x.send("3\r\nabc\r\n");
    x.wait_for_close();
  }};
  request.url = stalled.url();
  check_failure(send(request, {}), client_error::timeout, "no byte within 200");
  CAF_CHECK_LESS(clock_type::now() - began, 10s);
}

CAF_TEST(bytes that come in time keep the request alive) {
  loopback_server slow{[](peer& x) {
    x.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n");
    for (int i = 0; i < 20; ++i)
      if (x.closes_within(50) || !x.send("x"))
        return;
  }};
  auto request = to(slow.url());
  request.idle_timeout = 700ms;
  auto began = clock_type::now();
  auto got = send(request, {});
  auto* response = std::get_if<http_response>(&got);
  CAF_REQUIRE(response != nullptr);
  CAF_CHECK_EQUAL(response->body.size(), 20u);
  // It took longer than it might have been silent.
  CAF_CHECK_GREATER(clock_type::now() - began, 700ms);
}

CAF_TEST(addresses that are not public are never connected to) {
  loopback_server server{sends("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
                               "\r\n")};
  auto port = ':' + std::to_string(server.port()) + '/';
  for (auto host : {"127.0.0.1",
                    "localhost",
                    "127.1",
                    "2130706433",
                    "0x7f000001",
                    "0177.0.0.1",
                    "0x7f.1",
                    "017700000001",
                    "127.000.000.001",
                    "0",
                    "0.0.0.0",
                    "[::1]",
                    "[::ffff:127.0.0.1]",
                    "[::ffff:7f00:1]",
                    "[::]",
                    "10.0.0.1",
                    "169.254.169.254",
                    "[fe80::1]",
                    "[64:ff9b::7f00:1]",
                    "user@127.0.0.1",
                    "127.0.0.1.",
                    "\xef\xbc\x91\x32\x37.0.0.1"}) {
    CAF_MESSAGE(host);
    auto request = to("http://" + std::string{host} + port);
    request.connect_timeout = 2s;
    request.public_addresses_only = true;
    auto got = send(request, {});
    auto* err = std::get_if<client_failure>(&got);
    CAF_REQUIRE(err != nullptr);
    // Whatever is no address at all is not found or no URL.
    auto is_address = std::string_view{host}.find('\xef') == std::string::npos
      && !std::string_view{host}.ends_with('.');
    if (is_address)
      CAF_CHECK(err->code == client_error::forbidden_address);
  }
  CAF_CHECK_EQUAL(server.requests().size(), 0u);
  CAF_CHECK(std::holds_alternative<http_response>(send(to(server.url()), {})));
}
