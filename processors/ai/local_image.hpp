// processors/ai/local_image.hpp -- pictures without a model or a network.
#pragma once

#include "processors/ai/image_model.hpp"

namespace reeve {

/// The offline default: an SVG page of some kilobytes with a sky, hills and
/// trees, whose colours and places follow from a hash of the prompt. It draws
/// nothing that the prompt says, and its `model` says so. The picture has no
/// scripts and refers to nothing; the beginning of the prompt is its title, as
/// escaped text.
class local_image final : public image_model {
public:
  lane_key lane() const override;

  /// Ends with a picture, the same for the same prompt, or with
  /// `failed_permanently` for a prompt in which nothing can be seen.
  provider_answer<image> draw(const image_request& request,
                              call_scope scope) override;
};

} // namespace reeve
