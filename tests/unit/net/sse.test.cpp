// tests/unit/net/sse.test.cpp
#define CAF_SUITE net.sse

#include "net/sse.hpp"

#include <caf/test/dsl.hpp>

#include <optional>
#include <vector>

using namespace reeve::net;
using namespace std::literals;

namespace {

struct event {
  std::string type;
  std::string id;
  std::string data;
};

// A client as WHATWG HTML, section 9.2.6 describes it.
std::vector<event> read(std::string_view bytes) {
  std::vector<event> result;
  event next;
  std::optional<std::string> data;
  while (!bytes.empty()) {
    auto end = bytes.find_first_of("\r\n");
    if (end == std::string_view::npos)
      break;
    auto line = bytes.substr(0, end);
    bytes.remove_prefix(end + (bytes.substr(end, 2) == "\r\n" ? 2 : 1));
    if (line.empty()) {
      if (data) {
        next.data = data->substr(0, data->size() - 1);
        result.push_back(next);
      }
      next = {};
      data.reset();
      continue;
    }
    auto colon = line.find(':');
    auto name = line.substr(0, colon);
    auto value = colon == std::string_view::npos ? std::string_view{}
                                                 : line.substr(colon + 1);
    if (!value.empty() && value.front() == ' ')
      value.remove_prefix(1);
    if (name == "event")
      next.type = value;
    else if (name == "id")
      next.id = value;
    else if (name == "data")
      data = data.value_or("") + std::string{value} + '\n';
  }
  return result;
}

} // namespace

CAF_TEST(an event as bytes) {
  CAF_CHECK_EQUAL(sse_event("job", "7", "{}"),
                  "event: job\nid: 7\ndata: {}\n\n");
  CAF_CHECK_EQUAL(sse_event("", "", ""), "data: \n\n");
  CAF_CHECK_EQUAL(std::string{sse_keep_alive()}, ":\n\n");
  CAF_CHECK_EQUAL(sse_retry(2500), "retry: 2500\n\n");
}

CAF_TEST(data comes back with its lines and forges no field) {
  struct row {
    std::string data;
    std::string read;
  };
  for (const auto& x : {
         row{"plain", "plain"},
         row{"", ""},
         row{" led by a space", " led by a space"},
         row{"a\nb", "a\nb"},
         row{"a\rb", "a\nb"},
         row{"a\r\nb", "a\nb"},
         row{"a\n\nb", "a\n\nb"},
         row{"a\r\n\r\nb", "a\n\nb"},
         row{"a\n", "a\n"},
         row{"\n\n\nevent: evil\ndata: x\n\n",
             "\n\n\nevent: evil\ndata: x\n\n"},
         row{"x\rid: 9\revent: evil", "x\nid: 9\nevent: evil"},
         row{"a\xe2\x80\xa8"
             "event: evil",
             "a\xe2\x80\xa8"
             "event: evil"},
         row{"a\0event: evil"s, "a\0event: evil"s},
         row{"a\xc2\x85"
             "b",
             "a\xc2\x85"
             "b"},
       }) {
    auto events = read(sse_event("job", "1", x.data));
    CAF_REQUIRE_EQUAL(events.size(), 1u);
    CAF_CHECK_EQUAL(events[0].type, "job");
    CAF_CHECK_EQUAL(events[0].id, "1");
    CAF_CHECK_EQUAL(events[0].data, x.read);
  }
}

CAF_TEST(neither event nor id can end its line) {
  for (const auto& evil : {"a\nid: 9"s, "a\rid: 9"s, "a\r\n\r\ndata: x"s,
                           "a\n\ndata: x\n\n"s, "\n"s}) {
    auto events = read(sse_event(evil, evil, "d"));
    CAF_REQUIRE_EQUAL(events.size(), 1u);
    CAF_CHECK_EQUAL(events[0].data, "d");
    CAF_CHECK(events[0].id != "9");
    CAF_CHECK(events[0].id.find('\n') == std::string::npos);
  }
  CAF_CHECK(sse_event("e", "1\0"s, "d").find('\0') == std::string::npos);
}
