// processors/card_analysis.cpp -- CARD_ANALYSIS: a scrap becomes a card.
#include "processors/card_analysis.hpp"

#include "persistence/uuid.hpp"
#include "processors/ai/analysis_check.hpp"
#include "processors/model_calls.hpp"

#include <stdexcept>
#include <utility>

namespace reeve {

namespace {

/// About what a scrap of usual length takes, for the lane's token bucket.
constexpr uint64_t bytes_per_token = 4;

knowledge_card card_of(const job& job, const nlohmann::json& made) {
  knowledge_card result;
  result.id = make_uuid();
  result.scrap_id = job.target_id;
  result.job_id = job.id;
  result.user_id = job.user_id;
  result.summary = made.at("summary");
  result.tags = made.at("tags").get<std::vector<std::string>>();
  result.embedding = made.at("embedding").get<std::vector<float>>();
  result.model = made.at("model");
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
  if (!scrap || !may_use(job.user_id, scrap->user_id))
    return outcome::failed_permanently(std::string{target_gone_message});
  context.progress(10, "analysing");
  auto made = context.step("analysis", {{"scrap_id", scrap->id}},
                           [&] { return analyze(context, *scrap); });
  context.progress(90, "storing the card");
  auto card = card_of(job, made);
  auto result = outcome::completed({{"card_id", card.id},
                                    {"scrap_id", card.scrap_id},
                                    {"model", card.model},
                                    {"tags", card.tags}});
  result.effects.emplace_back(std::move(card));
  return result;
}

step_result card_analysis::analyze(job_context& context, const scrap& scrap) {
  auto lane = model_->lane();
  auto tokens = scrap.content.size() / bytes_per_token;
  auto answer = call_provider<analysis>(context, lane, tokens, [&] {
    return model_->analyze(scrap, context.scope());
  });
  auto checked = accepted(std::get<analysis>(std::move(answer.result)));
  if (auto* refused = std::get_if<unacceptable>(&checked))
    throw paid_end(lane, answer,
                   outcome::failed("The analysis " + refused->why));
  const auto& made = std::get<analysis>(checked);
  step_result result;
  result.result = {{"summary", made.summary},
                   {"tags", made.tags},
                   {"embedding", made.embedding},
                   {"model", made.model}};
  result.provider = lane.provider;
  result.model = made.model;
  result.used = answer.used;
  return result;
}

std::vector<std::string> card_analysis::lanes() const {
  return lane_names({model_->lane()});
}

} // namespace reeve
