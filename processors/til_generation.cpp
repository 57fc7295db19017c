// processors/til_generation.cpp -- TIL_GENERATION: what was learned on a day.
#include "processors/til_generation.hpp"

#include "persistence/uuid.hpp"
#include "processors/day_text.hpp"
#include "processors/model_calls.hpp"

#include <stdexcept>
#include <utility>

namespace reeve {

til_generation::til_generation(std::shared_ptr<text_model> text)
  : text_(std::move(text)) {
  if (text_ == nullptr)
    throw std::invalid_argument("TIL_GENERATION needs a text model");
}

outcome til_generation::run(job_context& context) {
  const auto& job = context.current();
  auto day = find_day(context);
  // The cards are no input: one that comes between two runs is no reason to
  // pay for the text again.
  auto written = context.step("text", {{"daily_summary_id", day.what.id}},
                              [&] { return write(context, day); });
  context.progress(90, "storing the entry");
  til_entry entry;
  entry.id = make_uuid();
  entry.daily_summary_id = day.what.id;
  entry.job_id = job.id;
  entry.user_id = day.what.user_id;
  entry.content = written.at("content");
  entry.card_ids = written.at("card_ids").get<std::vector<std::string>>();
  entry.model = written.at("model");
  auto result = outcome::completed({{"til_id", entry.id},
                                    {"daily_summary_id", day.what.id},
                                    {"cards", entry.card_ids.size()},
                                    {"model", entry.model}});
  result.effects.emplace_back(std::move(entry));
  return result;
}

step_result til_generation::write(job_context& context,
                                  const summary_view& day) {
  auto today = lines_of("card", day.cards);
  if (today.ids.empty())
    throw run_ended{
      outcome::failed_permanently("no cards on " + day.what.date)};
  auto result = write_day_text(context, *text_, til_request(day.what, today));
  result.result["card_ids"] = std::move(today.ids);
  return result;
}

std::vector<std::string> til_generation::lanes() const {
  return lane_names({text_->lane()});
}

} // namespace reeve
