// processors/ai/completion_stream.hpp -- the chunks of a chat completion.
#pragma once

#include "net/event_stream.hpp"
#include "processors/ai/provider.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace reeve {

/// Reads the body of one answer: an event stream, or one JSON object from a
/// server that does not stream.
class completion_stream {
public:
  using text_listener = std::function<void(std::string_view)>;

  explicit completion_stream(const text_listener& on_text) : on_text_(on_text) {
    // nop
  }

  /// False once there is nothing more to read for.
  bool feed(std::string_view bytes);

  /// The body has ended. Must be called before the results are looked at.
  void end();

  /// Why there is nothing more to write, e.g. `stop`; empty when the answer
  /// did not get so far.
  const std::string& finish_reason() const noexcept {
    return finish_reason_;
  }

  /// The error object that ended the stream, or null.
  const nlohmann::json& error() const noexcept {
    return error_;
  }

  /// Why the body is no answer; empty while it may be one.
  const std::string& nonsense() const noexcept {
    return nonsense_;
  }

  /// The model said why it does not write.
  bool refused() const noexcept {
    return refused_;
  }

  const std::string& text() const noexcept {
    return text_;
  }

  const std::string& model() const noexcept {
    return model_;
  }

  const usage& used() const noexcept {
    return used_;
  }

private:
  bool take(const net::stream_event& event);
  /// A chunk, or a whole completion: they differ in the name of what is new.
  bool take_json(std::string_view text);

  const text_listener& on_text_;
  net::event_stream_parser parser_;
  /// A body that is one JSON object; such a body begins with `{`, an event
  /// stream never does.
  std::string object_;
  bool is_object_ = false;
  bool is_known_ = false;
  std::string text_;
  std::string finish_reason_;
  std::string model_;
  std::string nonsense_;
  nlohmann::json error_;
  usage used_;
  bool refused_ = false;
};

} // namespace reeve
