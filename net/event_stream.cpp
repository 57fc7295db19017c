// net/event_stream.cpp -- reading server-sent events (WHATWG HTML, 9.2.6).
#include "net/event_stream.hpp"

#include <utility>

namespace reeve::net {

bool event_stream_parser::feed(std::string_view bytes,
                               const listener& on_event) {
  while (!bytes.empty() && !ended_) {
    if (after_cr_) {
      after_cr_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    auto end = bytes.find_first_of("\r\n");
    auto part = bytes.substr(0, end);
    bytes_ += part.size();
    if (bytes_ > max_event_bytes_) {
      too_large_ = true;
      ended_ = true;
      break;
    }
    line_ += part;
    if (end == std::string_view::npos)
      break;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    ended_ = !take_line(on_event);
    line_.clear();
  }
  return !ended_;
}

bool event_stream_parser::take_line(const listener& on_event) {
  std::string_view line{line_};
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (is_first_line_ && line.starts_with(byte_order_mark))
    line.remove_prefix(byte_order_mark.size());
  is_first_line_ = false;
  if (line.empty())
    return dispatch(on_event);
  auto colon = line.find(':');
  auto name = line.substr(0, colon);
  auto value = colon == std::string_view::npos ? std::string_view{}
                                               : line.substr(colon + 1);
  if (value.starts_with(' '))
    value.remove_prefix(1);
  if (name == "event")
    type_ = value;
  else if (name == "data")
    data_.append(value).append(1, '\n');
  // Comments have an empty name.
  return true;
}

bool event_stream_parser::dispatch(const listener& on_event) {
  bytes_ = 0;
  auto type = std::exchange(type_, {});
  auto data = std::exchange(data_, {});
  if (data.empty())
    return true;
  data.pop_back();
  return on_event(
    {type.empty() ? "message" : std::move(type), std::move(data)});
}

} // namespace reeve::net
