// processors/card_analysis.cpp -- CARD_ANALYSIS: a scrap becomes a card.
#include "processors/card_analysis.hpp"

#include "persistence/uuid.hpp"
#include "processors/ai/analysis_check.hpp"

#include <stdexcept>
#include <utility>

namespace reeve {

namespace {

outcome outcome_of(provider_failure failure) {
  switch (failure.kind) {
    case run_outcome::failed_permanently:
      return outcome::failed_permanently(std::move(failure.message));
    case run_outcome::throttled:
      return outcome::throttled(std::move(failure.message), failure.delay);
    case run_outcome::provider_down:
      return outcome::provider_down(std::move(failure.message), failure.delay);
    case run_outcome::cancelled:
      return outcome::cancelled();
    // The rest is not a provider's to say.
    case run_outcome::failed:
    case run_outcome::completed:
    case run_outcome::timed_out:
    case run_outcome::lost:
    case run_outcome::interrupted:
    case run_outcome::snoozed:
      break;
  }
  return outcome::failed(std::move(failure.message));
}

outcome completed_with(const job& job, const scrap& scrap, analysis made) {
  knowledge_card card;
  card.id = make_uuid();
  card.scrap_id = scrap.id;
  card.job_id = job.id;
  card.user_id = job.user_id;
  card.summary = std::move(made.summary);
  card.tags = std::move(made.tags);
  card.embedding = std::move(made.embedding);
  card.model = std::move(made.model);
  auto result = outcome::completed({{"card_id", card.id},
                                    {"scrap_id", card.scrap_id},
                                    {"model", card.model},
                                    {"tags", card.tags}});
  result.card = std::move(card);
  return result;
}

} // namespace

card_analysis::card_analysis(std::shared_ptr<analysis_model> model)
  : model_(std::move(model)) {
  if (model_ == nullptr)
    throw std::invalid_argument("CARD_ANALYSIS needs an analysis model");
}

outcome card_analysis::run(job_context& context) {
  const auto& job = context.current();
  context.progress(0, "looking up the scrap");
  auto scrap = context.find_scrap(job.target_id);
  if (!scrap)
    return outcome::failed_permanently(std::string{target_gone_message});
  context.progress(10, "analysing");
  // An analysis costs money: none for a run that is over already.
  if (context.stop().stop_requested())
    return outcome::cancelled();
  auto answer = model_->analyze(*scrap, context.stop());
  if (auto* failure = std::get_if<provider_failure>(&answer))
    return outcome_of(std::move(*failure));
  auto checked = accepted(std::get<analysis>(std::move(answer)));
  if (auto* refused = std::get_if<unacceptable>(&checked))
    return outcome::failed("The analysis " + refused->why);
  context.progress(90, "storing the card");
  return completed_with(job, *scrap, std::get<analysis>(std::move(checked)));
}

} // namespace reeve
