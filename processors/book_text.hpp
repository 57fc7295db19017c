// processors/book_text.hpp -- what a text model is asked for a picture book,
// and what its answer must look like.
#pragma once

#include "processors/ai/text_model.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace reeve {

inline constexpr int max_book_pages = 50;
inline constexpr size_t max_book_title_code_points = 500;
inline constexpr size_t max_book_prompt_code_points = 20'000;
inline constexpr size_t max_page_text_code_points = 4'000;
inline constexpr size_t max_image_prompt_code_points = 4'000;

/// What a book is made from: the payload of BOOK_GENERATION.
struct book_request {
  std::string title;
  /// What the user wants it to be about.
  std::string prompt;
  /// 1 to `max_book_pages`.
  int pages = 1;
};

/// A page as the text model wrote it.
struct book_page {
  std::string text;
  std::string image_prompt;

  bool operator==(const book_page&) const = default;
};

/// Why a payload or an answer is of no use, for people.
struct unusable {
  std::string why;
};

/// Reads `{"title", "prompt", "pages"}`; other members are ignored. `why`
/// names the field.
std::variant<book_request, unusable> book_request_of(
  const nlohmann::json& payload);

/// The request to a text model. What users wrote stands on one line each, so
/// that it cannot pass for another line.
text_request book_text_request(const book_request& book);

/// Reads `{"pages": [{"text", "image_prompt"}, ...]}` with exactly `pages`
/// pages, with blanks around it and a Markdown fence, but nothing else; other
/// members are ignored. `why` ends a sentence that begins with `The text`.
std::variant<std::vector<book_page>, unusable> parse_book_text(
  std::string_view answer, int pages);

/// Counts the pages that a model has begun to write, while it writes.
class page_counter {
public:
  /// Takes the next piece of the answer; returns how many pages were begun.
  int add(std::string_view piece);

private:
  /// The end of what came so far, too short for the mark of a page.
  std::string tail_;
  int seen_ = 0;
};

} // namespace reeve
