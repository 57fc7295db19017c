// tests/unit/processors/fake_context.cpp -- the node as a processor sees it, in
// memory: steps and effects stay from run to run.
#include "tests/unit/processors/fake_context.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace reeve::test {

namespace {

class fake_permit final : public call_permit {
public:
  explicit fake_permit(fake_context& owner) : owner_(owner) {
    ++owner_.open_permits;
  }

  ~fake_permit() override {
    --owner_.open_permits;
  }

  void report(call_report x) override {
    owner_.calls.push_back(std::move(x));
  }

private:
  fake_context& owner_;
};

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  auto dot = [](const auto& x, const auto& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  };
  auto lengths = std::sqrt(dot(a, a) * dot(b, b));
  return lengths > 0 ? dot(a, b) / lengths : 0;
}

} // namespace

fake_context::fake_context(std::string type, std::string target_id) {
  job_.seq = 1;
  job_.id = "0190a0b0-0000-7000-8000-000000000001";
  job_.type = std::move(type);
  job_.target_id = std::move(target_id);
  job_.user_id = "user-1";
  job_.status = job_status::processing;
}

outcome fake_context::run(processor& how) {
  ++job_.run;
  ++job_.attempts;
  commits_in_run_ = 0;
  reports.clear();
  try {
    return how.run(*this);
  } catch (run_ended& end) {
    return std::move(end.how);
  }
}

void fake_context::run_and_die_after(processor& how, size_t step) {
  die_after_ = step;
  try {
    run(how);
  } catch (const killed&) {
    // As a node does: the job, its steps and effects are all that is left.
  }
  die_after_ = 0;
}

const job& fake_context::current() const {
  return job_;
}

void fake_context::progress(int percent, std::string_view message) {
  reports.emplace_back(percent, message);
  if (on_progress)
    on_progress(percent, reports.back().second);
}

std::stop_token fake_context::stop() const {
  return source.get_token();
}

void fake_context::end_if_stopped() const {
  if (source.stop_requested())
    throw run_ended{outcome::cancelled()};
}

void fake_context::look_up(const std::string& what) {
  look_ups.push_back(what);
  if (on_look_up)
    on_look_up();
  end_if_stopped();
}

std::unique_ptr<call_permit> fake_context::acquire(const std::string& lane,
                                                   uint64_t tokens) {
  end_if_stopped();
  if (lane.empty())
    return nullptr;
  if (lane_closed)
    throw run_ended{*lane_closed};
  acquired.emplace_back(lane, tokens);
  return std::make_unique<fake_permit>(*this);
}

std::optional<scrap> fake_context::find_scrap(const std::string& id) {
  look_up("scrap " + id);
  auto i = scraps.find(id);
  return i != scraps.end() ? std::optional{i->second} : std::nullopt;
}

std::optional<content> fake_context::find_content(const std::string& id) {
  look_up("content " + id);
  auto i = contents.find(id);
  return i != contents.end() ? std::optional{i->second} : std::nullopt;
}

std::optional<summary_view> fake_context::find_summary(
  const std::string& id_or_date, const std::optional<std::string>& user_id) {
  look_up("summary " + id_or_date);
  for (const auto& x : summaries) {
    if (x.id != id_or_date && (x.date != id_or_date || x.user_id != user_id))
      continue;
    summary_view result;
    result.what = x;
    result.cards = cards_between(x.user_id, x.day_start, x.day_end, 1'000);
    for (auto& card : result.cards)
      card.embedding.clear();
    return result;
  }
  return std::nullopt;
}

std::vector<knowledge_card> fake_context::cards_between(
  const std::optional<std::string>& user_id, timestamp from, timestamp to,
  uint32_t limit) {
  end_if_stopped();
  std::vector<knowledge_card> result;
  for (const auto& card : cards)
    if (card.user_id == user_id && card.created_at >= from
        && card.created_at < to && result.size() < limit)
      result.push_back(card);
  return result;
}

std::vector<card_hit> fake_context::similar_cards(const card_search& what) {
  look_up("similar cards");
  std::vector<card_hit> result;
  for (const auto& card : cards)
    if ((!what.user_id || card.user_id == what.user_id)
        && (!what.before || card.created_at < *what.before)
        && card.embedding.size() == what.embedding.size())
      result.push_back({card, cosine(card.embedding, what.embedding)});
  std::stable_sort(result.begin(), result.end(),
                   [](const card_hit& a, const card_hit& b) {
                     return a.similarity > b.similarity;
                   });
  if (result.size() > what.limit)
    result.resize(what.limit);
  return result;
}

std::optional<nlohmann::json> fake_context::find_step(
  const std::string& name, const std::string& input_hash) {
  end_if_stopped();
  for (const auto& x : steps)
    if (x.step.name == name && x.step.input_hash == input_hash)
      return x.step.result;
  return std::nullopt;
}

void fake_context::store_step(job_step step, std::vector<effect> effects) {
  if (before_commit)
    before_commit(step);
  for (const auto& x : effects)
    apply(x);
  steps.push_back({std::move(step), std::move(effects)});
  if (++commits_in_run_ == die_after_)
    throw killed{};
}

void fake_context::apply(const effect& x) {
  auto gone =
    run_ended{outcome::failed_permanently(std::string{target_gone_message})};
  if (auto* pages = std::get_if<book_pages>(&x)) {
    if (!contents.contains(pages->content_id))
      throw gone;
    auto& book = contents[pages->content_id];
    book.pages.clear();
    for (const auto& text : pages->texts)
      book.pages.push_back({static_cast<int>(book.pages.size()) + 1, text, {}});
  } else if (auto* picture = std::get_if<page_image>(&x)) {
    if (!contents.contains(picture->content_id))
      throw gone;
    auto index = static_cast<size_t>(picture->number - 1);
    contents[picture->content_id].pages.at(index).image = picture->info;
    images[picture->number] = *picture;
  }
}

std::vector<std::string> fake_context::step_names() const {
  std::vector<std::string> result;
  for (const auto& x : steps)
    result.push_back(x.step.name);
  return result;
}

lane_key fake_text_model::lane() const {
  return key;
}

provider_answer<std::string> fake_text_model::write(
  const text_request& request,
  const std::function<void(std::string_view)>& on_text, call_scope scope) {
  traces.push_back(scope.trace);
  requests.push_back(request);
  provider_answer<std::string> result;
  result.model = "prose-1-20260101";
  result.used.input_tokens = 100;
  auto said = says(request, scope.stop);
  if (auto* failure = std::get_if<provider_failure>(&said)) {
    result.result = std::move(*failure);
    return result;
  }
  auto& text = std::get<std::string>(said);
  for (size_t i = 0; on_text && i < text.size(); i += 7)
    on_text(std::string_view{text}.substr(i, 7));
  result.used.output_tokens = 200;
  result.result = std::move(text);
  return result;
}

lane_key fake_image_model::lane() const {
  return key;
}

provider_answer<image> fake_image_model::draw(const image_request& request,
                                              call_scope) {
  requests.push_back(request);
  provider_answer<image> result;
  result.model = "brush-1-20260101";
  if (!says) {
    result.used.images = 1;
    result.result =
      image{"image/png", "\x89PNG " + std::to_string(requests.size())};
    return result;
  }
  auto said = says(request);
  if (auto* failure = std::get_if<provider_failure>(&said))
    result.result = std::move(*failure);
  else
    result.result = std::get<image>(std::move(said));
  result.used.images = result.ok() ? 1 : 0;
  return result;
}

} // namespace reeve::test
