// tests/unit/net/event_stream.test.cpp -- event streams in pieces of any size.
#define CAF_SUITE net.event_stream

#include "net/event_stream.hpp"
#include "net/sse.hpp"

#include <caf/test/dsl.hpp>

#include <vector>

using namespace reeve::net;
using namespace std::literals;

namespace {

// `type=data|` of each event.
struct listing {
  std::string text;

  event_stream_parser::listener listener() {
    return [this](const stream_event& x) {
      text += x.type + '=' + x.data + '|';
      return true;
    };
  }
};

std::string in_pieces_of(size_t size, std::string_view stream) {
  event_stream_parser parser;
  listing result;
  for (size_t i = 0; i < stream.size(); i += size)
    if (!parser.feed(stream.substr(i, size), result.listener()))
      return "ended";
  return result.text;
}

// Cut in two at each byte, and one byte at a time.
void check(std::string_view stream, const std::string& expected) {
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    event_stream_parser parser;
    listing result;
    CAF_CHECK(parser.feed(stream.substr(0, cut), result.listener()));
    CAF_CHECK(parser.feed(stream.substr(cut), result.listener()));
    CAF_CHECK_EQUAL(result.text, expected);
  }
  CAF_CHECK_EQUAL(in_pieces_of(1, stream), expected);
  CAF_CHECK_EQUAL(in_pieces_of(3, stream), expected);
}

} // namespace

CAF_TEST(fields and line ends cut at every byte) {
  check("", "");
  check("data: a\n\n", "message=a|");
  check("data: a\r\r", "message=a|");
  check("data: a\r\n\r\n", "message=a|");
  check("data: a\r\n\ndata: b\r\r\n", "message=a|message=b|");
  check("\n\r\r\n\ndata: a\n\n\n", "message=a|");
  check("event: x\ndata: {\"a\": 1}\n\n", "x={\"a\": 1}|");
  check("event:x\ndata:a\n\nevent: y\r\ndata:  b\r\n\r\n", "x=a|y= b|");
  // The name does not outlive its event.
  check("event: x\ndata: a\n\ndata: b\n\n", "x=a|message=b|");
  check("event: x\nevent: y\ndata: a\n\n", "y=a|");
}

CAF_TEST(data of several lines) {
  check("data: a\ndata: b\n\n", "message=a\nb|");
  check("data: a\r\ndata\r\ndata: \r\n\r\n", "message=a\n\n|");
  check(sse_event("x", "1", "one\ntwo"), "x=one\ntwo|");
}

CAF_TEST(what is no event) {
  check(": a comment\n\n", "");
  check(":\n:data: x\n\n", "");
  check("data\n\n", "message=|");
  check("event: x\n\n", "");
  check("id: 1\nretry: 10\nother: y\n data: z\nDATA: z\n\n", "");
  check("data: not ended\n", "");
  check("data: a\n\ndata: cut", "message=a|");
  check("data: a\n: between\nid: 7\ndata: b\n\n", "message=a\nb|");
}

CAF_TEST(a byte order mark counts at the start only) {
  check("\xEF\xBB\xBF"
        "data: a\n\n",
        "message=a|");
  check("data: a\n\n\xEF\xBB\xBF"
        "data: b\n\n",
        "message=a|");
}

CAF_TEST(any bytes are data) {
  check("data: a\0b\xff\xc3\n\n"sv, "message=a\0b\xff\xc3|"s);
}

CAF_TEST(an event has a size limit and a stream has none) {
  listing got;
  event_stream_parser parser{10};
  for (int i = 0; i < 100; ++i)
    CAF_CHECK(parser.feed("data: 1234\n\n", got.listener()));
  CAF_CHECK_EQUAL(got.text.size(), 100 * "message=1234|"sv.size());
  CAF_CHECK(!parser.feed("data: 12345\n\n", got.listener()));
  CAF_CHECK(parser.too_large());
  CAF_CHECK(!parser.feed("data: 1\n\n", got.listener()));
  CAF_CHECK_EQUAL(got.text.size(), 100 * "message=1234|"sv.size());
  // Many short lines are an event, too; so is a line without an end.
  for (auto part : {"data:\n", ":xx\n", "x"}) {
    event_stream_parser endless{1000};
    auto i = 0;
    while (i < 2000 && endless.feed(part, got.listener()))
      ++i;
    CAF_CHECK(endless.too_large());
  }
}

CAF_TEST(a listener may end the reading) {
  std::vector<std::string> heard;
  event_stream_parser parser;
  auto first = [&heard](const stream_event& x) {
    heard.push_back(x.data);
    return false;
  };
  CAF_CHECK(!parser.feed("data: a\n\ndata: b\n\n", first));
  CAF_CHECK(!parser.feed("data: c\n\n", first));
  CAF_CHECK_EQUAL(heard, std::vector<std::string>{"a"});
  CAF_CHECK(!parser.too_large());
}
