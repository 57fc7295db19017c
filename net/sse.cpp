// net/sse.cpp -- server-sent events.
#include "net/sse.hpp"

namespace reeve::net {

namespace {

// `event` and `id` are one line each; a browser drops an id with U+0000.
void append_field(std::string& out, std::string_view name,
                  std::string_view value) {
  if (value.empty())
    return;
  out += name;
  out += ": ";
  for (auto c : value)
    out += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  out += '\n';
}

} // namespace

std::string sse_event(std::string_view event, std::string_view id,
                      std::string_view data) {
  std::string result;
  result.reserve(event.size() + id.size() + data.size() + 32);
  append_field(result, "event", event);
  append_field(result, "id", id);
  for (;;) {
    auto end = data.find_first_of("\r\n");
    result += "data: ";
    result += data.substr(0, end);
    result += '\n';
    if (end == std::string_view::npos)
      break;
    auto crlf = data.substr(end, 2) == "\r\n";
    data.remove_prefix(end + (crlf ? 2 : 1));
  }
  result += '\n';
  return result;
}

std::string_view sse_keep_alive() {
  return ":\n\n";
}

std::string sse_retry(unsigned milliseconds) {
  return "retry: " + std::to_string(milliseconds) + "\n\n";
}

} // namespace reeve::net
