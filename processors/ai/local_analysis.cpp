// processors/ai/local_analysis.cpp -- analysis without a model or a network.
#include "processors/ai/local_analysis.hpp"

#include "persistence/text.hpp"
#include "processors/text/document.hpp"
#include "processors/text/extract.hpp"
#include "processors/text/hashed_embedding.hpp"
#include "processors/text/plain_text.hpp"

namespace reeve {

namespace {

constexpr auto model_name = "local-extractive-1";

provider_failure invisible() {
  return {run_outcome::failed_permanently,
          "There is nothing to analyse: the text has no visible character",
          {},
          lane_effect::none};
}

provider_failure stopped() {
  return {
    run_outcome::cancelled, "The analysis was stopped", {}, lane_effect::none};
}

} // namespace

lane_key local_analysis::lane() const {
  return {"local", model_name};
}

provider_answer<analysis> local_analysis::analyze(const scrap& input,
                                                  call_scope scope) {
  // A title of a megabyte would be a text of its own.
  constexpr size_t max_title_bytes = 4 * 1024;
  auto content = sanitized(text::prefix(input.content, max_analysed_bytes));
  auto title =
    sanitized(text::prefix(input.title.value_or(""), max_title_bytes));
  if (text::is_blank(content))
    return {invisible(), {}, {}, model_name};
  text::document document{title, content, scope.stop};
  analysis result;
  if (!scope.stop.stop_requested()) {
    result.summary = text::summarize(document);
    result.tags = text::keywords(document);
    result.embedding = text::hashed_embedding(document, content, scope.stop);
    result.model = model_name;
  }
  // What was made after the stop may lack anything.
  if (scope.stop.stop_requested())
    return {stopped(), {}, {}, model_name};
  return {std::move(result), {}, {}, model_name};
}

provider_answer<std::vector<float>> local_analysis::embed(
  const std::string& text, call_scope scope) {
  auto content = sanitized(text::prefix(text, max_analysed_bytes));
  if (text::is_blank(content))
    return {invisible(), {}, {}, model_name};
  text::document document{{}, content, scope.stop};
  auto result = text::hashed_embedding(document, content, scope.stop);
  if (scope.stop.stop_requested())
    return {stopped(), {}, {}, model_name};
  return {std::move(result), {}, {}, model_name};
}

} // namespace reeve
