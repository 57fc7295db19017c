// processors/recall_generation.hpp -- RECALL_GENERATION: earlier cards that go
// with a day's.
#pragma once

#include "processors/ai/text_model.hpp"
#include "processors/processor.hpp"

#include <memory>
#include <string_view>

namespace reeve {

/// Finds the earlier cards of the same user that are most like a day's, and
/// writes a text about them. The target is as for TIL_GENERATION. Search and
/// text are the step `text`; the entry is stored with the job's COMPLETED. The
/// result is `{"recall_id", "daily_summary_id", "related": [{"card_id",
/// "similarity"}, ...], "model"}`. Without an earlier card that fits, `related`
/// is empty, `model` is `none`, and no model is asked. Fails for good with
/// `target_gone_message` when the summary is gone, and when the day has no
/// cards.
class recall_generation final : public processor {
public:
  static constexpr std::string_view type = "RECALL_GENERATION";

  /// Throws `std::invalid_argument` without a model.
  explicit recall_generation(std::shared_ptr<text_model> text);

  outcome run(job_context& context) override;
  std::vector<std::string> lanes() const override;

private:
  step_result write(job_context& context, const daily_summary& day);

  std::shared_ptr<text_model> text_;
};

} // namespace reeve
