// processors/recall_generation.cpp -- RECALL_GENERATION: earlier cards that go
// with a day's.
#include "processors/recall_generation.hpp"

#include "persistence/uuid.hpp"
#include "processors/day_text.hpp"
#include "processors/model_calls.hpp"
#include "processors/recall_search.hpp"

#include <stdexcept>
#include <utility>

namespace reeve {

namespace {

/// A day's direction does not change much beyond that many cards.
constexpr uint32_t max_cards_of_a_day = 1'000;

/// Room for hits that are dropped, such as other cards of the same scraps.
constexpr uint32_t hits_to_ask_for = 10 * max_recalled;

std::vector<card_hit> search(job_context& context, const daily_summary& day,
                             const std::vector<knowledge_card>& today) {
  card_search what;
  what.embedding = mean_embedding(today);
  if (what.embedding.empty())
    return {};
  what.user_id = day.user_id;
  what.before = day.day_start;
  what.limit = hits_to_ask_for;
  return worth_recalling(context.similar_cards(what), day, today);
}

step_result nothing_to_recall(const daily_summary& day) {
  step_result result;
  result.result = {
    {"content", "No earlier card goes with those of " + day.date + "."},
    {"model", "none"}};
  return result;
}

nlohmann::json related_json(const std::vector<card_hit>& earlier) {
  auto result = nlohmann::json::array();
  for (const auto& hit : earlier)
    result.push_back(
      {{"card_id", hit.card.id}, {"similarity", hit.similarity}});
  return result;
}

} // namespace

recall_generation::recall_generation(std::shared_ptr<text_model> text)
  : text_(std::move(text)) {
  if (text_ == nullptr)
    throw std::invalid_argument("RECALL_GENERATION needs a text model");
}

outcome recall_generation::run(job_context& context) {
  const auto& job = context.current();
  auto day = find_day(context).what;
  // The text is about the cards that were found: both are one step.
  auto written = context.step("text", {{"daily_summary_id", day.id}},
                              [&] { return write(context, day); });
  context.progress(90, "storing the recall");
  recall_entry entry;
  entry.id = make_uuid();
  entry.daily_summary_id = day.id;
  entry.job_id = job.id;
  entry.user_id = day.user_id;
  entry.content = written.at("content");
  entry.model = written.at("model");
  for (const auto& x : written.at("related"))
    entry.related.push_back({x.at("card_id"), x.at("similarity")});
  auto result = outcome::completed({{"recall_id", entry.id},
                                    {"daily_summary_id", day.id},
                                    {"related", written.at("related")},
                                    {"model", entry.model}});
  result.effects.emplace_back(std::move(entry));
  return result;
}

step_result recall_generation::write(job_context& context,
                                     const daily_summary& day) {
  auto today = context.cards_between(day.user_id, day.day_start, day.day_end,
                                     max_cards_of_a_day);
  if (today.empty())
    throw run_ended{outcome::failed_permanently("no cards on " + day.date)};
  context.progress(10, "looking for earlier cards");
  auto earlier = search(context, day, today);
  auto result = earlier.empty()
    ? nothing_to_recall(day)
    : write_day_text(context, *text_,
                     recall_request(day, lines_of("today", today), earlier));
  result.result["related"] = related_json(earlier);
  return result;
}

std::vector<std::string> recall_generation::lanes() const {
  return lane_names({text_->lane()});
}

} // namespace reeve
