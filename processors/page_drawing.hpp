// processors/page_drawing.hpp -- one page's picture, drawn and kept as a step.
#pragma once

#include "processors/ai/image_model.hpp"
#include "processors/processor.hpp"

#include <string>

namespace reeve {

/// What a picture is of.
struct page_drawing {
  std::string content_id;
  /// From 1.
  int number = 1;
  int pages = 1;
  std::string title;
  /// What is to be seen.
  std::string prompt;
};

/// Has a page drawn, once a job, as the step `image-N`; the picture takes the
/// place of an older one. Returns `{"content_type", "bytes", "digest"}`.
/// Throws `run_ended` when that fails or the book is gone.
nlohmann::json draw_page(job_context& context, image_model& model,
                         const page_drawing& what);

} // namespace reeve
