// processors/image_regen.cpp -- IMAGE_REGEN: a page of a book is drawn anew.
#include "processors/image_regen.hpp"

#include "persistence/text.hpp"
#include "processors/book_text.hpp"
#include "processors/model_calls.hpp"
#include "processors/page_drawing.hpp"
#include "processors/text/plain_text.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace reeve {

namespace {

struct redraw {
  int64_t page = 0;
  /// Empty: the page's text.
  std::string prompt;
};

std::variant<redraw, unusable> redraw_of(const nlohmann::json& payload) {
  if (!payload.is_object())
    return unusable{"The payload must be an object with page"};
  redraw result;
  auto page = payload.find("page");
  if (page == payload.end() || !page->is_number_integer())
    return unusable{"The payload's page must be a whole number"};
  // Beyond 63 bits it would turn negative, which no page is either.
  result.page = page->get<int64_t>();
  auto prompt = payload.find("prompt");
  if (prompt == payload.end() || prompt->is_null())
    return result;
  if (!prompt->is_string())
    return unusable{"The payload's prompt must be a text"};
  result.prompt = prompt->get<std::string>();
  if (!is_storable(result.prompt) || text::is_blank(result.prompt))
    return unusable{"The payload's prompt is empty or not UTF-8"};
  if (text::code_points(result.prompt) > max_image_prompt_code_points)
    return unusable{"The payload's prompt has more than "
                    + std::to_string(max_image_prompt_code_points)
                    + " characters"};
  return result;
}

const page* find_page(const content& book, int64_t number) {
  auto i = std::find_if(book.pages.begin(), book.pages.end(),
                        [number](const page& x) { return x.number == number; });
  return i != book.pages.end() ? &*i : nullptr;
}

outcome no_such_page(const content& book, int64_t number) {
  auto name = "Page " + std::to_string(number);
  if (number < 1 || number > book.page_count)
    return outcome::failed_permanently(name + " is not one of the book's "
                                       + std::to_string(book.page_count));
  if (is_final(book.status))
    return outcome::failed_permanently(name + " was never written");
  return outcome::failed(name + " is not written yet");
}

} // namespace

image_regen::image_regen(std::shared_ptr<image_model> images)
  : images_(std::move(images)) {
  if (images_ == nullptr)
    throw std::invalid_argument("IMAGE_REGEN needs an image model");
}

outcome image_regen::run(job_context& context) {
  const auto& job = context.current();
  auto payload = redraw_of(job.payload);
  if (auto* err = std::get_if<unusable>(&payload))
    return outcome::failed_permanently(err->why);
  const auto& wanted = std::get<redraw>(payload);
  context.progress(0, "looking up the page");
  auto content = context.find_content(job.target_id);
  if (!content || !may_use(job.user_id, content->user_id))
    return outcome::failed_permanently(std::string{target_gone_message});
  const auto* page = find_page(*content, wanted.page);
  if (page == nullptr)
    return no_such_page(*content, wanted.page);
  context.progress(10, "drawing page " + std::to_string(page->number));
  auto drawn =
    draw_page(context, *images_,
              {content->id, page->number, content->page_count, content->title,
               wanted.prompt.empty() ? page->text : wanted.prompt});
  context.progress(99, "page " + std::to_string(page->number) + " drawn");
  drawn["content_id"] = content->id;
  drawn["page"] = page->number;
  drawn["image_model"] = images_->lane().model;
  return outcome::completed(std::move(drawn));
}

std::vector<std::string> image_regen::lanes() const {
  return lane_names({images_->lane()});
}

} // namespace reeve
