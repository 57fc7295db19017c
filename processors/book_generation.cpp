// processors/book_generation.cpp -- BOOK_GENERATION: an idea becomes a picture
// book.
#include "processors/book_generation.hpp"

#include "processors/model_calls.hpp"
#include "processors/page_drawing.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace reeve {

namespace {

// Where in a run the text begins, where it is there, and where the last page
// is drawn: pictures take most of the time.
constexpr int text_begins = 5;
constexpr int text_ends = 35;
constexpr int images_end = 99;

int between(int from, int to, int done, int all) {
  return from + (to - from) * std::min(done, all) / all;
}

} // namespace

book_generation::book_generation(std::shared_ptr<text_model> text,
                                 std::shared_ptr<image_model> images)
  : text_(std::move(text)), images_(std::move(images)) {
  if (text_ == nullptr || images_ == nullptr)
    throw std::invalid_argument("BOOK_GENERATION needs a text model and an "
                                "image model");
}

outcome book_generation::run(job_context& context) {
  const auto& job = context.current();
  auto payload = book_request_of(job.payload);
  if (auto* err = std::get_if<unusable>(&payload))
    return outcome::failed_permanently(err->why);
  const auto& book = std::get<book_request>(payload);
  context.progress(0, "looking up the book");
  auto content = context.find_content(job.target_id);
  if (!content || !may_use(job.user_id, content->user_id))
    return outcome::failed_permanently(std::string{target_gone_message});
  context.progress(text_begins, "writing the text");
  auto written = context.step(
    "text",
    {{"title", book.title}, {"prompt", book.prompt}, {"pages", book.pages}},
    [&] { return write(context, book); });
  context.progress(text_ends, "text written");
  for (int number = 1; number <= book.pages; ++number) {
    const auto& page = written.at("pages").at(static_cast<size_t>(number - 1));
    draw_page(context, *images_,
              {job.target_id, number, book.pages, book.title,
               page.at("image_prompt").get<std::string>()});
    context.progress(between(text_ends, images_end, number, book.pages),
                     "page " + std::to_string(number) + " of "
                       + std::to_string(book.pages) + " drawn");
  }
  return outcome::completed({{"content_id", job.target_id},
                             {"pages", book.pages},
                             {"text_model", written.at("model")},
                             {"image_model", images_->lane().model}});
}

step_result book_generation::write(job_context& context,
                                   const book_request& book) {
  auto request = book_text_request(book);
  auto lane = text_->lane();
  page_counter counter;
  auto seen = 0;
  auto on_text = [&](std::string_view piece) {
    auto now = std::min(counter.add(piece), book.pages);
    if (now == seen)
      return;
    seen = now;
    context.progress(between(text_begins, text_ends, seen, book.pages),
                     "writing page " + std::to_string(seen) + " of "
                       + std::to_string(book.pages));
  };
  auto tokens = estimated_tokens(request.system.size() + request.prompt.size())
    + request.max_tokens;
  auto answer = call_provider<std::string>(context, lane, tokens, [&] {
    return text_->write(request, on_text, context.scope());
  });
  auto parsed =
    parse_book_text(std::get<std::string>(answer.result), book.pages);
  // Another try may well bring a better one; nothing of this one is kept.
  if (auto* err = std::get_if<unusable>(&parsed))
    throw paid_end(lane, answer, outcome::failed("The text " + err->why));
  auto pages = nlohmann::json::array();
  book_pages kept;
  kept.content_id = context.current().target_id;
  for (auto& page : std::get<std::vector<book_page>>(parsed)) {
    pages.push_back({{"text", page.text}, {"image_prompt", page.image_prompt}});
    kept.texts.push_back(std::move(page.text));
  }
  auto result = paid_step(lane, answer, {{"pages", std::move(pages)}});
  result.result["model"] = result.model;
  result.effects.emplace_back(std::move(kept));
  return result;
}

std::vector<std::string> book_generation::lanes() const {
  return lane_names({text_->lane(), images_->lane()});
}

} // namespace reeve
