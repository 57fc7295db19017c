// processors/til_generation.hpp -- TIL_GENERATION: what was learned on a day.
#pragma once

#include "processors/ai/text_model.hpp"
#include "processors/processor.hpp"

#include <memory>
#include <string_view>

namespace reeve {

/// Writes a text about the cards of a day. The target is a daily summary's id,
/// or its date (`YYYY-MM-DD`) among those of the job's user. The text is
/// written in the step `text` and stored with the job's COMPLETED. The result
/// is `{"til_id", "daily_summary_id", "cards", "model"}`, `cards` being how
/// many the text is about. Fails for good with `target_gone_message` when the
/// summary is gone, and when the day has no cards.
class til_generation final : public processor {
public:
  static constexpr std::string_view type = "TIL_GENERATION";

  /// Throws `std::invalid_argument` without a model.
  explicit til_generation(std::shared_ptr<text_model> text);

  outcome run(job_context& context) override;
  std::vector<std::string> lanes() const override;

private:
  step_result write(job_context& context, const summary_view& day);

  std::shared_ptr<text_model> text_;
};

} // namespace reeve
