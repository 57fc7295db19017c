// processors/ai/anthropic_stream.hpp -- the events of the Messages API.
#pragma once

#include "net/event_stream.hpp"
#include "processors/ai/provider.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace reeve {

/// An error object of the API, in a response or within a stream.
struct anthropic_error {
  /// E.g. `overloaded_error`.
  std::string type;
  std::string message;
  /// Of the response; 0 within a stream.
  int status = 0;
};

/// What it means; none for a type that says no more than the status does.
/// `detail` is the message made safe.
std::optional<provider_failure> failure_of(const anthropic_error& err,
                                           const std::string& name,
                                           const std::string& detail);

/// Reads the body of one streamed answer.
class anthropic_stream {
public:
  using text_listener = std::function<void(std::string_view)>;

  explicit anthropic_stream(const text_listener& on_text) : on_text_(on_text) {
    // nop
  }

  /// False once there is nothing more to read for.
  bool feed(std::string_view bytes);

  /// Saw `message_stop`: the answer is whole.
  bool finished() const noexcept {
    return finished_;
  }

  /// The error that ended the stream.
  const std::optional<anthropic_error>& error() const noexcept {
    return error_;
  }

  /// Why the stream is no answer; empty while it may be one.
  const std::string& nonsense() const noexcept {
    return nonsense_;
  }

  const std::string& text() const noexcept {
    return text_;
  }

  const std::string& stop_reason() const noexcept {
    return stop_reason_;
  }

  const std::string& model() const noexcept {
    return model_;
  }

  const usage& used() const noexcept {
    return used_;
  }

private:
  bool take(const net::stream_event& event);
  void take_usage(const nlohmann::json& x);

  const text_listener& on_text_;
  net::event_stream_parser parser_;
  std::string text_;
  std::string stop_reason_;
  std::string model_;
  std::string nonsense_;
  std::optional<anthropic_error> error_;
  usage used_;
  bool finished_ = false;
};

} // namespace reeve
