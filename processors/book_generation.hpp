// processors/book_generation.hpp -- BOOK_GENERATION: an idea becomes a picture
// book.
#pragma once

#include "processors/ai/image_model.hpp"
#include "processors/ai/text_model.hpp"
#include "processors/book_text.hpp"
#include "processors/processor.hpp"

#include <memory>
#include <string_view>

namespace reeve {

/// Has the book `target_id` written and then drawn page by page, one after
/// another. The payload `{"title", "prompt", "pages"}` is all it needs. Steps:
/// `text` (stored with the pages' texts), then `image-1`, `image-2`, and so on
/// (each stored with its picture). The result is `{"content_id", "pages",
/// "text_model", "image_model"}`. When the content is gone, the job fails for
/// good with `target_gone_message`.
class book_generation final : public processor {
public:
  static constexpr std::string_view type = "BOOK_GENERATION";

  /// Throws `std::invalid_argument` without a model.
  book_generation(std::shared_ptr<text_model> text,
                  std::shared_ptr<image_model> images);

  outcome run(job_context& context) override;
  std::vector<std::string> lanes() const override;

private:
  step_result write(job_context& context, const book_request& book);

  std::shared_ptr<text_model> text_;
  std::shared_ptr<image_model> images_;
};

} // namespace reeve
