// processors/ai/image_model.hpp -- who draws pictures.
#pragma once

#include "processors/ai/provider.hpp"

#include <string>

namespace reeve {

struct image {
  /// `image/png`, `image/jpeg`, `image/webp` or `image/svg+xml`, as the bytes
  /// themselves say.
  std::string content_type;
  std::string bytes;
};

struct image_request {
  std::string prompt;
};

/// Thread-safe.
class image_model {
public:
  virtual ~image_model() = default;

  virtual lane_key lane() const = 0;

  /// Blocks until the picture is there or `scope` is broken off. Bytes that are
  /// no picture of an allowed type are a failure.
  virtual provider_answer<image> draw(const image_request& request,
                                      call_scope scope) = 0;
};

} // namespace reeve
