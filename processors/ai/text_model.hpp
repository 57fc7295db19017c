// processors/ai/text_model.hpp -- who writes texts.
#pragma once

#include "processors/ai/provider.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace reeve {

struct text_request {
  /// How to write; may be empty.
  std::string system;
  /// What about.
  std::string prompt;
  uint32_t max_tokens = 4'096;
};

/// Thread-safe.
class text_model {
public:
  virtual ~text_model() = default;

  virtual lane_key lane() const = 0;

  /// Blocks until the whole text is there or `scope` is broken off. `on_text`
  /// hears each piece as it is written, on the calling thread; it may be empty.
  /// A text that was cut (by its length or in the middle of the stream) is a
  /// failure, as are a refusal and an empty text.
  virtual provider_answer<std::string> write(
    const text_request& request,
    const std::function<void(std::string_view piece)>& on_text,
    call_scope scope) = 0;
};

} // namespace reeve
