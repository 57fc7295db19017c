// net/connection.hpp -- one client's HTTP/1.1 conversation, without a socket:
// bytes go in, requests come out; responses go in, bytes come out.
#pragma once

#include "net/http.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace reeve::net {

/// What one client may ask for. Each has a status of its own when exceeded.
struct connection_limits {
  /// Request line and fields together, in bytes (431).
  size_t header_bytes = 16 * 1024;
  /// Fields in one request (431).
  size_t header_fields = 100;
  /// Request target in bytes (414).
  size_t target_bytes = 8 * 1024;
  /// Body in bytes (413), known from Content-Length before it is read.
  size_t body_bytes = 1024 * 1024;
  /// From the first byte of a request to the last (408, then closed).
  std::chrono::milliseconds request_timeout{30'000};
  /// Between requests (closed without an answer).
  std::chrono::milliseconds idle_timeout{60'000};
};

/// The state machine of one connection. Requests are handed out one at a time:
/// a pipelined one waits until the one before it is answered. After any doubt
/// about where a message ends (400, 413, 414, 431, 501, 505) the connection
/// answers, closes, and runs nothing that stood behind it.
class connection {
public:
  using clock = std::chrono::steady_clock;

  connection(connection_limits limits, clock::time_point now);
  ~connection();

  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Takes what arrived. Errors in it become output at once.
  void receive(std::string_view bytes, clock::time_point now);

  /// The next request to answer, when it is complete and the one before it is
  /// answered. Call again after `respond`.
  std::optional<http_request> next_request(clock::time_point now);

  /// Answers the request that `next_request` returned last: once for each,
  /// else `std::logic_error`.
  void respond(const http_response& response, clock::time_point now);

  /// Answers it with a body of unknown length instead; ends with the
  /// connection (`Connection: close`, no Content-Length), as SSE does.
  void begin_stream(const http_response& head);
  /// More of that body; dropped when the request was HEAD.
  void stream(std::string_view bytes);
  void end_stream();

  /// The connection ends after the current answer (drain), at once when no
  /// request has begun.
  void close_after_response();

  /// Bytes to send; the caller takes them all.
  std::string take_output();

  /// True once all that `take_output` returned has to be sent and nothing
  /// will follow: close then.
  bool finished() const;

  /// True after an answer that came before the request was complete: the client
  /// may still be sending. Closing at once would reset the connection, and the
  /// answer could be lost with it (RFC 9112, section 9.6).
  bool refused() const;

  /// False while a request is under way and enough is buffered: stop reading.
  bool wants_input() const;

  /// True while a request was handed out and not answered yet.
  bool busy() const;

  /// When `on_deadline` has to be called; none while a request is under way.
  std::optional<clock::time_point> deadline() const;
  void on_deadline(clock::time_point now);

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace reeve::net
