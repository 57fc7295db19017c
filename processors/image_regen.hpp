// processors/image_regen.hpp -- IMAGE_REGEN: a page of a book is drawn anew.
#pragma once

#include "processors/ai/image_model.hpp"
#include "processors/processor.hpp"

#include <memory>
#include <string_view>

namespace reeve {

/// Draws one page of the book `target_id` again. The payload is `{"page",
/// "prompt"?}`; without a prompt the page's text is drawn. The new picture
/// takes the old one's place in the step `image-N`. The result is
/// `{"content_id", "page", "content_type", "bytes", "digest", "image_model"}`.
/// When the content is gone, the job fails for good with
/// `target_gone_message`.
class image_regen final : public processor {
public:
  static constexpr std::string_view type = "IMAGE_REGEN";

  /// Throws `std::invalid_argument` without a model.
  explicit image_regen(std::shared_ptr<image_model> images);

  outcome run(job_context& context) override;
  std::vector<std::string> lanes() const override;

private:
  std::shared_ptr<image_model> images_;
};

} // namespace reeve
