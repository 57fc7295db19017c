// tests/unit/net/connection.test.cpp -- which bytes are a request, and which
// are refused with nothing behind them run.
#define CAF_SUITE net.connection

#include "tests/unit/net/conversation.hpp"

#include <caf/test/dsl.hpp>

using namespace reeve::net;
using namespace reeve::net::test;
using namespace std::literals;

namespace {

const auto canary = "GET /canary HTTP/1.1\r\nHost: h\r\n\r\n"s;

// The same bytes whole, one by one, and in seeded splits.
std::vector<outcome> every_way(const std::string& text,
                               connection_limits limits = {}) {
  std::vector<outcome> result;
  result.push_back(talk({text}, limits));
  result.push_back(talk(in_bytes(text), limits));
  for (unsigned seed = 1; seed <= 20; ++seed)
    result.push_back(talk(in_splits(text, seed), limits));
  return result;
}

bool is_canary(const http_request& x) {
  return x.target == "/canary";
}

void check_refused(const std::string& bytes, int status,
                   connection_limits limits = {}) {
  for (const auto& x : every_way(bytes + canary, limits)) {
    if (x.requests.empty() && x.finished && x.statuses == std::vector{status}
        && x.rest.empty())
      continue;
    CAF_MESSAGE("input: " << bytes.substr(0, 300));
    CAF_CHECK_EQUAL(x.requests.size(), 0u);
    CAF_CHECK_EQUAL(x.statuses, std::vector{status});
    CAF_CHECK_EQUAL(x.rest, "");
    CAF_CHECK(x.finished);
    return;
  }
  CAF_CHECK(true);
}

std::string get(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n";
}

std::string with(const std::string& fields) {
  return "POST / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}

std::string chunked(const std::string& body) {
  return with("Transfer-Encoding: chunked\r\n") + body;
}

// The request that all ways of splitting agree on, with the canary behind it.
http_request accepted(const std::string& bytes, connection_limits limits = {}) {
  auto ways = every_way(bytes + canary, limits);
  const auto& first = ways.front();
  for (const auto& x : ways) {
    if (x.requests.size() != 2 || !is_canary(x.requests[1])
        || x.statuses != std::vector{200, 200} || !x.rest.empty()
        || x.finished) {
      CAF_MESSAGE("input: " << bytes.substr(0, 300));
      CAF_CHECK_EQUAL(x.requests.size(), 2u);
      CAF_CHECK_EQUAL(x.statuses, (std::vector{200, 200}));
      CAF_FAIL("not accepted, or not with the canary behind it");
    }
    CAF_CHECK_EQUAL(x.requests[0].method, first.requests[0].method);
    CAF_CHECK_EQUAL(x.requests[0].target, first.requests[0].target);
    CAF_CHECK_EQUAL(x.requests[0].segments, first.requests[0].segments);
    CAF_CHECK_EQUAL(x.requests[0].query, first.requests[0].query);
    CAF_CHECK(x.requests[0].headers == first.requests[0].headers);
    CAF_CHECK_EQUAL(x.requests[0].body, first.requests[0].body);
  }
  return first.requests[0];
}

using strings = std::vector<std::string>;
using pairs = std::vector<std::pair<std::string, std::string>>;

} // namespace

CAF_TEST(fields are lower case and repeated ones are joined) {
  auto x = accepted("GET /a HTTP/1.1\r\nHOST: h:80\r\nX-One:  a b\t\r\n"
                    "x-one:c\r\nX-Empty:\r\nX-Text: gr\xc3\xbc\xc3\x9f\r\n"
                    "\r\n");
  CAF_CHECK_EQUAL(x.method, "GET");
  CAF_CHECK_EQUAL(std::string{x.header("x-one").value_or("?")}, "a b, c");
  CAF_CHECK_EQUAL(std::string{x.header("x-empty").value_or("?")}, "");
  CAF_CHECK_EQUAL(std::string{x.header("host").value_or("?")}, "h:80");
  CAF_CHECK_EQUAL(std::string{x.header("x-text").value_or("?")},
                  "gr\xc3\xbc\xc3\x9f");
  CAF_CHECK(!x.header("x-other"));
}

CAF_TEST(methods are passed on as they are) {
  CAF_CHECK_EQUAL(accepted("BREW / HTTP/1.1\r\nHost: h\r\n\r\n").method,
                  "BREW");
  CAF_CHECK_EQUAL(accepted("get / HTTP/1.1\r\nHost: h\r\n\r\n").method, "get");
  auto longest = std::string(32, 'M');
  CAF_CHECK_EQUAL(accepted(longest + " / HTTP/1.1\r\nHost: h\r\n\r\n").method,
                  longest);
  accepted("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
}

CAF_TEST(targets are decoded after they are split) {
  auto segments = [](const std::string& target) {
    return accepted(get(target)).segments;
  };
  CAF_CHECK_EQUAL(segments("/"), strings{});
  CAF_CHECK_EQUAL(segments("/api/jobs/x%2Fy"), (strings{"api", "jobs", "x/y"}));
  CAF_CHECK_EQUAL(segments("/a/"), (strings{"a", ""}));
  CAF_CHECK_EQUAL(segments("//a"), (strings{"", "a"}));
  CAF_CHECK_EQUAL(segments("/a+b"), strings{"a+b"});
  CAF_CHECK_EQUAL(segments("/%e2%82%ac%252e"), strings{"\xe2\x82\xac%2e"});
  CAF_CHECK_EQUAL(segments("/..."), strings{"..."});
  CAF_CHECK_EQUAL(segments("/.a/b."), (strings{".a", "b."}));
  CAF_CHECK_EQUAL(accepted(get("/a?x=1")).target, "/a?x=1");
}

CAF_TEST(queries are decoded in order) {
  auto query = [](const std::string& text) {
    return accepted(get("/?" + text)).query;
  };
  CAF_CHECK_EQUAL(query("b=2&a=1&b=%33"),
                  (pairs{{"b", "2"}, {"a", "1"}, {"b", "3"}}));
  CAF_CHECK_EQUAL(query("a+b=c+d%2B"), (pairs{{"a b", "c d+"}}));
  CAF_CHECK_EQUAL(query("&&x&y=&=z&"),
                  (pairs{{"x", ""}, {"y", ""}, {"", "z"}}));
  CAF_CHECK_EQUAL(query("q=a=b?c/d/.."), (pairs{{"q", "a=b?c/d/.."}}));
  CAF_CHECK_EQUAL(query(""), pairs{});
}

CAF_TEST(absolute targets give the path and the host) {
  auto x = accepted("GET http://Other:81/a?b=c HTTP/1.1\r\nHost: h\r\n\r\n");
  CAF_CHECK_EQUAL(x.target, "/a?b=c");
  CAF_CHECK_EQUAL(x.segments, strings{"a"});
  CAF_CHECK_EQUAL(std::string{*x.header("host")}, "Other:81");
  CAF_CHECK_EQUAL(accepted(get("HTTPS://h")).target, "/");
  CAF_CHECK_EQUAL(accepted(get("http://h?x=1")).target, "/?x=1");
  auto star = accepted("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n");
  CAF_CHECK_EQUAL(star.target, "*");
  CAF_CHECK_EQUAL(star.segments, strings{});
}

CAF_TEST(bodies end where their framing says) {
  CAF_CHECK_EQUAL(accepted(with("Content-Length: 0\r\n")).body, "");
  CAF_CHECK_EQUAL(accepted(with("Content-Length: 05\r\n") + "a\r\n\0b"s).body,
                  "a\r\n\0b"s);
  CAF_CHECK_EQUAL(accepted(chunked("0\r\n\r\n")).body, "");
  CAF_CHECK_EQUAL(accepted(chunked("3\r\nabc\r\n00A;x=\"y\"\r\n0123456789\r\n"
                                   "000\r\nX-Trailer: t\r\n\r\n"))
                    .body,
                  "abc0123456789");
  CAF_CHECK_EQUAL(
    accepted(with("transfer-encoding:CHUNKED\r\n") + "1;a\r\nx\r\n0;b\r\n\r\n")
      .body,
    "x");
  // A body whose text looks like requests and chunks.
  CAF_CHECK_EQUAL(
    accepted(with("Content-Length: " + std::to_string(canary.size()) + "\r\n")
             + canary)
      .body,
    canary);
}

CAF_TEST(one empty line before a request is tolerated) {
  CAF_CHECK_EQUAL(accepted("\r\n" + get("/a")).target, "/a");
  check_refused("\r\n\r\n" + get("/a"), 400);
}

CAF_TEST(malformed request lines are refused) {
  for (const auto& line : {
         "GET /"s,
         "GET  / HTTP/1.1"s,
         "GET /  HTTP/1.1"s,
         "GET / HTTP/1.1 "s,
         " GET / HTTP/1.1"s,
         "GET\t/ HTTP/1.1"s,
         "GET /\tHTTP/1.1"s,
         "GET / a HTTP/1.1"s,
         "G(T / HTTP/1.1"s,
         "G\xc3\xa9T / HTTP/1.1"s,
         "GET"s,
         " / HTTP/1.1"s,
         "GET / HTTP/1.1\rX: y"s,
         "GET / http/1.1"s,
         "GET / HTTPS/1.1"s,
         "GET / HTTP/1"s,
         "GET / HTTP/11"s,
         "GET / HTTP/1.10"s,
         "GET / HTTP/ 1.1"s,
         "GET / HTTP/1.1\0"s,
         "GET /\0 HTTP/1.1"s,
         "GET /\x7f HTTP/1.1"s,
         "GET /\xc3\xa9 HTTP/1.1"s,
         "\x16\x03\x01\x02"s,
         std::string(33, 'M') + " / HTTP/1.1",
         std::string(20'000, 'M') + " / HTTP/1.1",
       })
    check_refused(line + "\r\nHost: h\r\n\r\n", 400);
}

CAF_TEST(other versions are refused) {
  check_refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
  for (auto version : {"0.9", "1.2", "2.0", "3.0", "9.9"})
    check_refused("GET / HTTP/"s + version + "\r\nHost: h\r\n\r\n", 505);
  check_refused("GET /\r\n", 400); // HTTP/0.9
}

CAF_TEST(hostile targets are refused) {
  for (const auto& target : {
         "a"s,
         "*"s,
         "h:80"s,
         "/#a"s,
         "/a?b#c"s,
         "/%"s,
         "/%4"s,
         "/%g0"s,
         "/%0g"s,
         "/%-1"s,
         "/%00"s,
         "/%c0%af"s,
         "/%c3"s,
         "/%ed%a0%80"s,
         "/%f5%80%80%80"s,
         "/%ff"s,
         "/?a=%00"s,
         "/?%00=a"s,
         "/?a=%"s,
         "/?a=%zz"s,
         "/?a=%ff"s,
         "/."s,
         "/.."s,
         "/a/../b"s,
         "/a/./b"s,
         "/%2e%2E/b"s,
         "/.%2e"s,
         "/a/%2e"s,
         "ftp://h/"s,
         "file:///etc/passwd"s,
         "http://"s,
         "http:///a"s,
         "http://u:p@h/"s,
         "http://h\\a/"s,
         "http:/a"s,
         "https:a"s,
         "javascript://h/"s,
       })
    check_refused(get(target), 400);
  check_refused("CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 501);
  check_refused("CONNECT /a HTTP/1.1\r\nHost: h\r\n\r\n", 501);
}

CAF_TEST(malformed fields are refused) {
  for (const auto& fields : {
         "X: a\r\n b\r\n"s,  "X: a\r\n\tb\r\n"s,
         "X : a\r\n"s,       "X\t: a\r\n"s,
         ": a\r\n"s,         "X\r\n"s,
         "X y: a\r\n"s,      "X\xc3\xa9: a\r\n"s,
         "X(: a\r\n"s,       "X: a\nY: b\r\n"s,
         "X: a\rY: b\r\n"s,  "X: a\r\r\n"s,
         "X: a\0b\r\n"s,     "X\0: a\r\n"s,
         "X: a\x01\r\n"s,    "X: a\x7f\r\n"s,
         "X: a\x1b[0m\r\n"s, "X: \xff\r\n"s,
         "X: \xc0\x80\r\n"s, "Host: h\r\n"s,
         "host: other\r\n"s, "Connection: close, \"\r\n"s,
       })
    check_refused(with(fields), 400);
  check_refused("GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400);
  check_refused("GET / HTTP/1.1\nHost: h\n\n", 400);
  check_refused("GET / HTTP/1.1\r\nHost: h\r\n\n", 400);
  check_refused("GET / HTTP/1.1\r\n\r\n", 400);
  for (auto host : {"", "a b", "a,b", "a/b", "u@h", "a?b", "a#b", "\"h\""})
    check_refused("GET / HTTP/1.1\r\nHost: "s + host + "\r\n\r\n", 400);
  check_refused("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400);
  check_refused(with("Expect: 200-ok\r\n"), 417);
}

CAF_TEST(ambiguous framing is refused) {
  const auto te = "Transfer-Encoding: "s;
  const auto cl = "Content-Length: "s;
  for (const auto& fields : {
         cl + "3\r\n" + te + "chunked\r\n",
         te + "chunked\r\n" + cl + "3\r\n",
         te + "chunked\r\n" + cl + "\r\n",
         te + "gzip\r\n" + cl + "3\r\n",
         cl + "3\r\n" + cl + "4\r\n",
         cl + "3\r\n" + cl + "3\r\n",
         cl + "3, 3\r\n",
         cl + "3,4\r\n",
         cl + "\r\n",
         cl + "+3\r\n",
         cl + "-3\r\n",
         cl + "0x3\r\n",
         cl + "3.0\r\n",
         cl + "3 3\r\n",
         cl + "3a\r\n",
         cl + "\"3\"\r\n",
         cl + "99999999999999999999999\r\n",
         cl + "18446744073709551616\r\n",
         te + "\r\n",
         te + "chunked, chunked\r\n",
         te + "chunked, identity\r\n",
         te + "chunked;q=1\r\n",
         te + ",chunked\r\n",
         te + "\"chunked\"\r\n",
         te + "chunked\r\n" + te + "chunked\r\n",
         te + "identity\r\n" + te + "chunked\r\n",
         te + "chunked\x0b\r\n",
         te + "\x0b" + "chunked\r\n",
         te + "chunked\r\n " + "x\r\n",
       })
    check_refused(with(fields) + "0\r\n\r\n", 400);
  for (auto coding :
       {"gzip", "identity", "gzip, chunked", "xchunked", "x-chunked"})
    check_refused(with(te + coding + "\r\n") + "0\r\n\r\n", 501);
  check_refused("POST / HTTP/1.0\r\n" + te + "chunked\r\n\r\n0\r\n\r\n", 400);
}

CAF_TEST(malformed chunks are refused) {
  for (const auto& body : {
         "\r\n"s,
         "x\r\n"s,
         "-1\r\n"s,
         "+1\r\na\r\n0\r\n\r\n"s,
         "0x1\r\na\r\n0\r\n\r\n"s,
         " 1\r\na\r\n0\r\n\r\n"s,
         "1 \r\na\r\n0\r\n\r\n"s,
         "1\na\r\n0\r\n\r\n"s,
         "1\r\na\n0\r\n\r\n"s,
         "1\r\nab\r\n0\r\n\r\n"s,
         "1\r\na0\r\n\r\n"s,
         "2\r\na\r\n0\r\n\r\n"s,
         "1;a\nb\r\na\r\n0\r\n\r\n"s,
         "1;\x01\r\na\r\n0\r\n\r\n"s,
         "1;a=\"\r\nx\r\n0\"\n\r\n"s,
         "1\rX\r\na\r\n0\r\n\r\n"s,
         "0\r\n\n"s,
         "0\n\n"s,
         "0\r\nX\r\n\r\n"s,
         "0\r\nX : y\r\n\r\n"s,
         "0\r\n X: y\r\n\r\n"s,
         "0\r\nX: a\r\n b\r\n\r\n"s,
         "0\r\nContent-Length: 5\r\n\r\n"s,
         "0\r\nTransfer-Encoding: x\r\n\r\n"s,
         "0\r\nHost: other\r\n\r\n"s,
         "00000000000000001\r\na\r\n0\r\n\r\n"s,
         "10000000000000001\r\na\r\n0\r\n\r\n"s,
         "GET /x HTTP/1.1\r\n\r\n"s,
       })
    check_refused(chunked(body), 400);
  check_refused(chunked("ffffffffffffffff\r\n"), 413);
}

CAF_TEST(each limit has its status and the largest allowed passes) {
  connection_limits limits;
  limits.header_bytes = 400;
  limits.header_fields = 5;
  limits.target_bytes = 50;
  limits.body_bytes = 10;
  accepted(get("/" + std::string(49, 'a')), limits);
  check_refused(get("/" + std::string(50, 'a')), 414, limits);
  check_refused("GET /" + std::string(5000, 'a'), 414, limits);
  accepted(with("A:\r\nB:\r\nC:\r\nD:\r\n"), limits);
  check_refused(with("A:\r\nB:\r\nC:\r\nD:\r\nE:\r\n"), 431, limits);
  auto room = limits.header_bytes - with("X: \r\n").size();
  accepted(with("X: " + std::string(room, 'a') + "\r\n"), limits);
  check_refused(with("X: " + std::string(room + 1, 'a') + "\r\n"), 431, limits);
  check_refused("GET / HTTP/1.1\r\nX: " + std::string(5000, 'a'), 431, limits);
  auto ten = std::string(10, 'b');
  accepted(with("Content-Length: 10\r\n") + ten, limits);
  check_refused(with("Content-Length: 11\r\n"), 413, limits);
  accepted(chunked("5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n"), limits);
  check_refused(chunked("5\r\n01234\r\n6\r\n"), 413, limits);
  check_refused(chunked("b\r\n"), 413, limits);
  accepted(chunked("1;" + std::string(399, 'e') + "\r\na\r\n0\r\n\r\n"),
           limits);
  check_refused(chunked("1;" + std::string(401, 'e')), 431, limits);
  check_refused(chunked("0\r\nX: " + std::string(401, 'e')), 431, limits);
}

CAF_TEST(refusals are problem documents that say what is allowed) {
  connection uut{{}, start};
  uut.receive("GET / HTTP/1.1\r\n\r\n", start);
  auto output = uut.take_output();
  std::string_view bytes{output};
  auto x = take_answer(bytes);
  CAF_CHECK_EQUAL(x.status, 400);
  CAF_CHECK_EQUAL(x.headers["content-type"], "application/problem+json");
  CAF_CHECK_EQUAL(x.headers["connection"], "close");
  CAF_CHECK(x.body.find("exactly one Host field") != std::string::npos);
  CAF_CHECK(uut.finished());
}

CAF_TEST(random bytes never hang or escape) {
  std::mt19937 random{4711};
  const std::vector<std::string> words{"GET ",
                                       "POST ",
                                       "/a",
                                       "/%2e",
                                       " HTTP/1.1",
                                       "\r\n",
                                       "\r\n\r\n",
                                       "\n",
                                       "\r",
                                       "Host: h\r\n",
                                       "Content-Length: ",
                                       "5",
                                       "\r\nTransfer-Encoding: chunked",
                                       "0\r\n\r\n",
                                       "\0"s,
                                       "\xff",
                                       " ",
                                       ":",
                                       "1\r\nx\r\n",
                                       canary};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (auto n = random() % 20; n > 0; --n)
      text += words[random() % words.size()];
    auto whole = talk({text});
    auto bytes = talk(in_bytes(text));
    auto split = talk(in_splits(text, random()));
    for (const auto* x : {&bytes, &split}) {
      if (x->statuses != whole.statuses
          || x->requests.size() != whole.requests.size()
          || x->finished != whole.finished)
        CAF_FAIL("the split changed the outcome of: " << text);
    }
    CAF_REQUIRE_EQUAL(whole.rest, "");
  }
}
