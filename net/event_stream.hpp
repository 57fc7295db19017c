// net/event_stream.hpp -- reading server-sent events (WHATWG HTML, 9.2.6).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace reeve::net {

struct stream_event {
  /// `message` unless the stream names it.
  std::string type;
  /// Lines are joined by LF.
  std::string data;
};

/// Makes events of a stream that comes in pieces of any size. Ids and the time
/// to reconnect are skipped: who reads here does not resume.
class event_stream_parser {
public:
  /// False ends the reading.
  using listener = std::function<bool(const stream_event&)>;

  /// An event of more than `max_event_bytes`, of names, data and comments
  /// together, is an error.
  explicit event_stream_parser(size_t max_event_bytes = 1024 * 1024)
    : max_event_bytes_(max_event_bytes) {
    // nop
  }

  /// False when an event was too large or `on_event` wanted no more; whatever
  /// comes from then on is ignored. An event that is not followed by an empty
  /// line is none.
  bool feed(std::string_view bytes, const listener& on_event);

  bool too_large() const noexcept {
    return too_large_;
  }

private:
  bool take_line(const listener& on_event);
  bool dispatch(const listener& on_event);

  size_t max_event_bytes_;
  /// The line that is being read.
  std::string line_;
  std::string type_;
  std::string data_;
  /// Of the event so far.
  size_t bytes_ = 0;
  bool is_first_line_ = true;
  /// The LF behind a CR belongs to it.
  bool after_cr_ = false;
  bool too_large_ = false;
  bool ended_ = false;
};

} // namespace reeve::net
