// processors/card_analysis.hpp -- CARD_ANALYSIS: a scrap becomes a card.
#pragma once

#include "processors/ai/analysis_model.hpp"
#include "processors/processor.hpp"

#include <memory>
#include <string_view>

namespace reeve {

/// Has the scrap `target_id` analysed. The result is `{"card_id", "scrap_id",
/// "model", "tags"}`; the card is stored with the job's COMPLETED. When the
/// scrap is gone, or another user's, the job fails for good with
/// `target_gone_message`.
class card_analysis final : public processor {
public:
  static constexpr std::string_view type = "CARD_ANALYSIS";

  /// Throws `std::invalid_argument` without a model.
  explicit card_analysis(std::shared_ptr<analysis_model> model);

  outcome run(job_context& context) override;
  std::vector<std::string> lanes() const override;

private:
  step_result analyze(job_context& context, const scrap& scrap);

  std::shared_ptr<analysis_model> model_;
};

} // namespace reeve
