// processors/day_text.hpp -- what is asked of a text model about a day's cards,
// and what its answer must look like.
#pragma once

#include "persistence/cards.hpp"
#include "processors/ai/text_model.hpp"
#include "processors/processor.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reeve {

/// Cards that a prompt names at most, and bytes of all their lines together.
inline constexpr size_t max_prompt_cards = 200;
inline constexpr size_t max_prompt_bytes = 48 * 1024;
inline constexpr size_t max_day_text_code_points = 20'000;

/// Cards as lines of a prompt, each cut to its share of `max_prompt_bytes`.
struct card_lines {
  std::string lines;
  /// The cards that are in them.
  std::vector<std::string> ids;
};

/// One line a card, which begins with `label: `, for the first
/// `max_prompt_cards`. Summaries come from models, tags too: neither can end
/// its line.
card_lines lines_of(std::string_view label,
                    const std::vector<knowledge_card>& cards);

/// What "today I learned".
text_request til_request(const daily_summary& day, const card_lines& today);

/// How earlier cards go with a day's.
text_request recall_request(const daily_summary& day, const card_lines& today,
                            const std::vector<card_hit>& earlier);

/// The summary that the running job is about: its target is an id or a date of
/// its user. Throws `run_ended` with `target_gone_message`.
summary_view find_day(job_context& context);

/// Has the text written; the result is `{"content", "model"}`. Throws
/// `run_ended` when that fails or there is nothing to read in it.
step_result write_day_text(job_context& context, text_model& model,
                           const text_request& request);

} // namespace reeve
