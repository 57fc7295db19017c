// processors/ai/analysis_check.cpp -- whether a provider's analysis makes a
// card.
#include "processors/ai/analysis_check.hpp"

#include "persistence/text.hpp"
#include "processors/text/plain_text.hpp"

#include <algorithm>
#include <cmath>

namespace reeve {

namespace {

// A summary may have paragraphs, so only its ends are cut.
std::string trimmed(const std::string& text) {
  constexpr auto spaces = " \t\r\n";
  auto first = text.find_first_not_of(spaces);
  if (first == std::string::npos)
    return {};
  return text.substr(first, text.find_last_not_of(spaces) + 1 - first);
}

std::vector<std::string> cleaned(const std::vector<std::string>& tags) {
  std::vector<std::string> result;
  for (const auto& raw : tags) {
    if (result.size() == max_tags)
      break;
    auto tag = text::one_line(sanitized(raw));
    if (!text::is_blank(tag)
        && std::find(result.begin(), result.end(), tag) == result.end())
      result.push_back(std::move(tag));
  }
  return result;
}

unacceptable too_long(const std::string& what, size_t limit) {
  return {what + " of more than " + std::to_string(limit) + " characters"};
}

} // namespace

std::variant<analysis, unacceptable> accepted(analysis x) {
  x.summary = trimmed(sanitized(x.summary));
  if (text::is_blank(x.summary))
    return unacceptable{"has an empty summary"};
  if (text::code_points(x.summary) > max_summary_code_points)
    return too_long("has a summary", max_summary_code_points);
  x.tags = cleaned(x.tags);
  for (const auto& tag : x.tags)
    if (text::code_points(tag) > max_tag_code_points)
      return too_long("has a tag", max_tag_code_points);
  if (x.embedding.empty() || x.embedding.size() > max_embedding_dimension)
    return unacceptable{
      "has an embedding of " + std::to_string(x.embedding.size())
      + " numbers instead of 1 to " + std::to_string(max_embedding_dimension)};
  if (!std::all_of(x.embedding.begin(), x.embedding.end(),
                   [](float y) { return std::isfinite(y); }))
    return unacceptable{"has an embedding with a number that is not finite"};
  x.model = text::one_line(sanitized(x.model));
  if (text::is_blank(x.model))
    return unacceptable{"does not say which model made it"};
  if (text::code_points(x.model) > max_model_code_points)
    return too_long("has a model's name", max_model_code_points);
  return x;
}

} // namespace reeve
