// tests/unit/net/connection_life.test.cpp -- answers, order, deadlines and
// memory of a connection.
#define CAF_SUITE net.connection_life

#include "tests/unit/net/allocations.hpp"
#include "tests/unit/net/conversation.hpp"

#include <caf/test/dsl.hpp>

#include <stdexcept>

using namespace reeve::net;
using namespace reeve::net::test;
using namespace std::literals;

namespace {

const auto get_a = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"s;
const auto get_b = "GET /b HTTP/1.1\r\nHost: h\r\n\r\n"s;

std::string get_with(const std::string& version, const std::string& fields) {
  return "GET / " + version + "\r\nHost: h\r\n" + fields + "\r\n";
}

struct fixture {
  connection_limits limits;
  connection::clock::time_point now = start;
  connection uut{limits, start};

  // What the connection sends when it has received `bytes` and its request is
  // answered with `response`.
  std::string converse(const std::string& bytes,
                       const http_response& response) {
    uut.receive(bytes, now);
    if (!uut.next_request(now))
      CAF_FAIL("no request in: " << bytes);
    uut.respond(response, now);
    return uut.take_output();
  }

  answer only_answer(std::string_view bytes, bool to_head = false) {
    auto result = take_answer(bytes, to_head);
    CAF_CHECK_EQUAL(std::string{bytes}, "");
    return result;
  }
};

bool has(const answer& x, const std::string& name) {
  return x.headers.count(name) > 0;
}

} // namespace

CAF_TEST_FIXTURE_SCOPE(connection_life_tests, fixture)

CAF_TEST(an answer has a length and a date besides its own fields) {
  auto x = only_answer(converse(get_a,
                                {201,
                                 {{"X-Own", "v"},
                                  {"content-length", "999"},
                                  {"Transfer-Encoding", "chunked"},
                                  {"Connection", "upgrade"}},
                                 "body"}));
  CAF_CHECK_EQUAL(x.status, 201);
  CAF_CHECK_EQUAL(x.headers["x-own"], "v");
  CAF_CHECK_EQUAL(x.headers["content-length"], "4");
  CAF_CHECK_EQUAL(x.body, "body");
  CAF_CHECK(!has(x, "transfer-encoding"));
  CAF_CHECK(!has(x, "connection"));
  auto date = x.headers["date"];
  CAF_REQUIRE_EQUAL(date.size(), 29u);
  CAF_CHECK_EQUAL(date.substr(3, 2), ", ");
  CAF_CHECK_EQUAL(date.substr(25), " GMT");
  CAF_CHECK(!uut.finished());
}

CAF_TEST(HEAD gets the head of the answer only) {
  auto bytes =
    converse("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", {200, {}, "body"});
  auto x = only_answer(bytes, true);
  CAF_CHECK_EQUAL(x.headers["content-length"], "4");
  CAF_CHECK_EQUAL(only_answer(converse(get_a, {200, {}, "b"})).body, "b");
}

CAF_TEST(204 and 304 have neither body nor length) {
  for (auto status : {204, 304}) {
    auto x = only_answer(converse(get_a, {status, {}, "forbidden"}));
    CAF_CHECK_EQUAL(x.status, status);
    CAF_CHECK(!has(x, "content-length"));
  }
  CAF_CHECK_EQUAL(only_answer(converse(get_a, {200, {}, "b"})).body, "b");
}

CAF_TEST(keeping alive follows version and Connection) {
  struct row {
    std::string version;
    std::string fields;
    std::string connection; // of the answer
    bool finished;
  };
  for (const auto& x : {
         row{"HTTP/1.1", "", "", false},
         row{"HTTP/1.1", "Connection: close\r\n", "close", true},
         row{"HTTP/1.1", "Connection: x, CLOSE\r\n", "close", true},
         row{"HTTP/1.1", "Connection: x\r\nConnection: close\r\n", "close",
             true},
         row{"HTTP/1.1", "Connection: closed\r\n", "", false},
         row{"HTTP/1.1", "Connection: keep-alive\r\n", "", false},
         row{"HTTP/1.0", "", "close", true},
         row{"HTTP/1.0", "Connection: Keep-Alive\r\n", "keep-alive", false},
         row{"HTTP/1.0", "Connection: keep-alive, close\r\n", "close", true},
       }) {
    connection c{limits, start};
    c.receive(get_with(x.version, x.fields) + get_b, now);
    CAF_REQUIRE(c.next_request(now));
    c.respond({200, {}, "ok"}, now);
    auto y = only_answer(c.take_output());
    CAF_CHECK_EQUAL(y.headers["connection"], x.connection);
    CAF_CHECK_EQUAL(y.body, "ok");
    CAF_CHECK_EQUAL(c.finished(), x.finished);
    CAF_CHECK_EQUAL(c.next_request(now).has_value(), !x.finished);
  }
  connection c{limits, start};
  c.receive("GET / HTTP/1.0\r\n\r\n", now);
  CAF_CHECK(c.next_request(now));
}

CAF_TEST(an answer that could split is replaced by a 500) {
  for (const auto& bad : {
         http_response{200, {{"X", "a\r\nY: b"}}, "ok"},
         http_response{200, {{"X", "a\nb"}}, "ok"},
         http_response{200, {{"X", "a\0b"s}}, "ok"},
         http_response{200, {{"X: y\r\nZ", "a"}}, "ok"},
         http_response{200, {{"", "a"}}, "ok"},
         http_response{101, {}, ""},
         http_response{99, {}, ""},
         http_response{1000, {}, ""},
       }) {
    connection c{limits, start};
    c.receive(get_a, now);
    CAF_REQUIRE(c.next_request(now));
    c.respond(bad, now);
    auto x = only_answer(c.take_output());
    CAF_CHECK_EQUAL(x.status, 500);
    CAF_CHECK_EQUAL(x.headers["content-type"], "application/problem+json");
    CAF_CHECK(c.finished());
  }
}

CAF_TEST(pipelined requests wait for the answer before them) {
  uut.receive(get_a + get_b + "GARBAGE\r\n", now);
  auto first = uut.next_request(now);
  CAF_REQUIRE(first);
  CAF_CHECK_EQUAL(first->target, "/a");
  CAF_CHECK(uut.busy());
  CAF_CHECK(!uut.next_request(now));
  CAF_CHECK_EQUAL(uut.take_output(), "");
  uut.respond({200, {}, "1"}, now);
  CAF_CHECK(!uut.busy());
  auto second = uut.next_request(now);
  CAF_REQUIRE(second);
  CAF_CHECK_EQUAL(second->target, "/b");
  // The garbage is answered in its turn, not before.
  CAF_CHECK_EQUAL(only_answer(uut.take_output()).body, "1");
  uut.respond({200, {}, "2"}, now);
  auto output = uut.take_output();
  std::string_view bytes{output};
  CAF_CHECK_EQUAL(take_answer(bytes).body, "2");
  CAF_CHECK_EQUAL(take_answer(bytes).status, 400);
  CAF_CHECK(uut.finished());
}

CAF_TEST(reading stops while enough is pipelined) {
  uut.receive(get_a, now);
  CAF_REQUIRE(uut.next_request(now));
  CAF_CHECK(uut.wants_input());
  uut.receive(std::string(64 * 1024, 'x'), now);
  CAF_CHECK(uut.wants_input());
  uut.receive("x", now);
  CAF_CHECK(!uut.wants_input());
  uut.respond({200, {}, ""}, now);
  CAF_CHECK(uut.wants_input()); // the rest was refused and dropped
}

CAF_TEST(many small pipelined requests take linear time) {
  std::string many;
  for (int i = 0; i < 50'000; ++i)
    many += get_a;
  auto began = std::chrono::steady_clock::now();
  uut.receive(many, now);
  size_t n = 0;
  while (uut.next_request(now)) {
    ++n;
    uut.respond({204, {}, ""}, now);
  }
  CAF_CHECK_EQUAL(n, 50'000u);
  CAF_CHECK_LESS(std::chrono::steady_clock::now() - began, 30s);
}

CAF_TEST(answering without a request is an error of the caller) {
  CAF_CHECK_THROWS_AS(uut.respond({}, now), std::logic_error);
  CAF_CHECK_THROWS_AS(uut.begin_stream({}), std::logic_error);
  converse(get_a, {});
  CAF_CHECK_THROWS_AS(uut.respond({}, now), std::logic_error);
  CAF_CHECK_EQUAL(uut.take_output(), "");
}

CAF_TEST(a stream ends with the connection) {
  uut.receive(get_a + get_b, now);
  CAF_REQUIRE(uut.next_request(now));
  uut.begin_stream({200, {{"Content-Type", "text/event-stream"}}, ""});
  CAF_CHECK(uut.busy());
  CAF_CHECK(!uut.deadline());
  uut.stream("one");
  auto output = uut.take_output();
  uut.receive(get_b, now);
  uut.stream("two");
  CAF_CHECK(!uut.finished());
  uut.end_stream();
  output += uut.take_output();
  auto x = only_answer(output);
  CAF_CHECK_EQUAL(x.body, "onetwo");
  CAF_CHECK_EQUAL(x.headers["connection"], "close");
  CAF_CHECK(!has(x, "content-length"));
  CAF_CHECK(uut.finished());
  CAF_CHECK(!uut.next_request(now));
  uut.stream("late");
  CAF_CHECK_EQUAL(uut.take_output(), "");
}

CAF_TEST(a stream for HEAD is its head only) {
  uut.receive("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", now);
  CAF_REQUIRE(uut.next_request(now));
  uut.begin_stream({200, {}, ""});
  uut.stream("dropped");
  uut.end_stream();
  CAF_CHECK_EQUAL(only_answer(uut.take_output(), true).status, 200);
  CAF_CHECK(uut.finished());
}

CAF_TEST(100 Continue comes when the body is awaited) {
  auto head = [](const std::string& fields) {
    return "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\n" + fields
      + "\r\n";
  };
  uut.receive(head("Content-Length: 2\r\n"), now);
  CAF_CHECK_EQUAL(uut.take_output(), "HTTP/1.1 100 Continue\r\n\r\n");
  CAF_CHECK_EQUAL(only_answer(converse("ab", {200, {}, "x"})).body, "x");
  // The body is there already, or there is none.
  uut.receive(head("Content-Length: 2\r\n") + "a", now);
  CAF_CHECK_EQUAL(uut.take_output(), "");
  CAF_CHECK_EQUAL(only_answer(converse("b", {200, {}, "y"})).body, "y");
  CAF_CHECK_EQUAL(only_answer(converse(head(""), {200, {}, "z"})).body, "z");
  // Not for 1.0, and never when the body is too large.
  uut.receive("POST / HTTP/1.0\r\nExpect: 100-continue\r\n"
              "Content-Length: 1\r\nConnection: keep-alive\r\n\r\n",
              now);
  CAF_CHECK_EQUAL(uut.take_output(), "");
  converse("x", {});
  uut.receive(head("Content-Length: 9999999\r\n"), now);
  CAF_CHECK_EQUAL(only_answer(uut.take_output()).status, 413);
  CAF_CHECK(uut.finished());
}

CAF_TEST(a slow request is answered 408 and closed) {
  const auto body = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx"s;
  for (const auto& text :
       {"G"s, "GET / HTTP/1.1\r\nHos"s, "\r"s, body,
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1"s}) {
    connection c{limits, start};
    auto t = start + 10s;
    c.receive(text.substr(0, 1), t);
    for (auto x : text.substr(1))
      c.receive({&x, 1}, t += 1ms); // more bytes buy no time
    auto due = start + 10s + limits.request_timeout;
    CAF_REQUIRE(c.deadline());
    CAF_CHECK(*c.deadline() == due);
    c.on_deadline(due - 1ms);
    CAF_CHECK_EQUAL(c.take_output(), "");
    c.on_deadline(due);
    CAF_CHECK_EQUAL(only_answer(c.take_output()).status, 408);
    CAF_CHECK(c.finished());
    CAF_CHECK(!c.deadline());
    c.receive(get_a, due);
    CAF_CHECK(!c.next_request(due));
  }
}

CAF_TEST(an idle connection is closed without a word) {
  CAF_REQUIRE(uut.deadline());
  CAF_CHECK(*uut.deadline() == start + limits.idle_timeout);
  now += 20s;
  uut.receive(get_a, now);
  CAF_CHECK(!uut.deadline());
  CAF_REQUIRE(uut.next_request(now));
  CAF_CHECK(!uut.deadline());
  now += 1h; // as long as the answer takes
  uut.on_deadline(now);
  CAF_CHECK(!uut.finished());
  uut.respond({200, {}, ""}, now);
  CAF_REQUIRE(uut.deadline());
  CAF_CHECK(*uut.deadline() == now + limits.idle_timeout);
  uut.take_output();
  uut.on_deadline(now + limits.idle_timeout);
  CAF_CHECK_EQUAL(uut.take_output(), "");
  CAF_CHECK(uut.finished());
}

CAF_TEST(a pipelined part gets its time from its turn on) {
  uut.receive(get_a + "GET", now);
  CAF_REQUIRE(uut.next_request(now));
  now += 1h;
  uut.respond({200, {}, ""}, now);
  CAF_REQUIRE(uut.deadline());
  CAF_CHECK(*uut.deadline() == now + limits.request_timeout);
}

CAF_TEST(drain closes after the current answer) {
  uut.receive(get_a + get_b, now);
  CAF_REQUIRE(uut.next_request(now));
  uut.close_after_response();
  CAF_CHECK(!uut.finished());
  uut.respond({200, {}, "last"}, now);
  auto x = only_answer(uut.take_output());
  CAF_CHECK_EQUAL(x.body, "last");
  CAF_CHECK_EQUAL(x.headers["connection"], "close");
  CAF_CHECK(uut.finished());
  CAF_CHECK(!uut.next_request(now));
  connection idle{limits, start};
  idle.close_after_response();
  CAF_CHECK(idle.finished());
  connection begun{limits, start};
  begun.receive("GET /a HTTP/1.1\r\n", now);
  begun.close_after_response();
  CAF_CHECK(!begun.finished());
  begun.receive("Host: h\r\n\r\n", now);
  CAF_CHECK(begun.next_request(now));
}

CAF_TEST_FIXTURE_SCOPE_END()

CAF_TEST(memory follows what arrived and not what was announced) {
  allocated() = 0;
  connection uut{{}, start};
  CAF_CHECK_LESS(allocated(), 2048u);
  // 10 GB are refused, the largest length allowed is not reserved.
  allocated() = 0;
  connection big{{}, start};
  big.receive("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000000\r\n"
              "\r\n",
              start);
  CAF_CHECK_LESS(allocated(), 32u * 1024);
  CAF_CHECK(big.take_output().find(" 413 ") != std::string::npos);
  allocated() = 0;
  uut.receive("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1048576\r\n\r\n",
              start);
  CAF_CHECK_LESS(allocated(), 32u * 1024);
  CAF_CHECK_GREATER(allocated(), 0u);
}
