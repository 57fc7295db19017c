// tests/support/fake_reads.cpp -- what a fake store answers when it is asked.
#include "support/fake_store.hpp"

#include "persistence/embedding_index.hpp"
#include "persistence/fingerprint.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

namespace reeve::test {

std::optional<job> fake_store::find_job(const std::string& id) {
  before_read();
  auto* found = db_->find(id);
  return found != nullptr ? std::optional{*found} : std::nullopt;
}

std::vector<job> fake_store::list_jobs(const job_filter& filter) {
  before_read();
  std::vector<job> result;
  for (auto i = db_->jobs.rbegin(); i != db_->jobs.rend(); ++i) {
    const auto& x = i->second;
    if ((!filter.status || x.status == *filter.status)
        && (!filter.type || x.type == *filter.type)
        && result.size() < filter.limit)
      result.push_back(x);
  }
  return result;
}

std::vector<attempt> fake_store::attempts_of(const std::string&) {
  before_read();
  return {};
}

std::optional<scrap> fake_store::find_scrap(const std::string& id) {
  before_read();
  auto i = db_->scraps.find(id);
  return i != db_->scraps.end() ? std::optional{i->second} : std::nullopt;
}

std::optional<knowledge_card> fake_store::find_card(const std::string& id) {
  before_read();
  auto i = db_->cards.find(id);
  return i != db_->cards.end() ? std::optional{i->second} : std::nullopt;
}

std::vector<knowledge_card> fake_store::cards_of_scrap(
  const std::string& scrap_id, uint32_t limit) {
  before_read();
  std::vector<knowledge_card> result;
  for (const auto& [id, card] : db_->cards)
    if (card.scrap_id == scrap_id && result.size() < limit)
      result.push_back(card);
  return result;
}

std::vector<knowledge_card> fake_store::list_cards(
  const std::optional<std::string>& before_id, uint32_t limit) {
  before_read();
  std::vector<knowledge_card> result;
  for (auto i = db_->cards.rbegin(); i != db_->cards.rend(); ++i)
    if ((!before_id || i->first < *before_id) && result.size() < limit) {
      result.push_back(i->second);
      result.back().embedding.clear();
    }
  return result;
}

store_stats fake_store::stats() {
  before_read();
  std::map<std::pair<std::string, job_status>, int64_t> counts;
  for (const auto& [seq, x] : db_->jobs)
    ++counts[{x.type, x.status}];
  store_stats result;
  for (const auto& [key, count] : counts)
    result.counts.push_back({key.first, key.second, count});
  return result;
}

std::vector<job_step> fake_store::steps_of(const std::string& job_id) {
  before_read();
  auto* found = db_->find(job_id);
  return found != nullptr ? db_->steps[found->seq] : std::vector<job_step>{};
}

std::vector<usage_row> fake_store::usage_between(timestamp from, timestamp to,
                                                 usage_group by) {
  before_read();
  std::map<std::string, usage_row> rows;
  std::set<std::pair<std::string, int64_t>> counted;
  for (const auto& [seq, steps] : db_->steps) {
    for (const auto& step : steps) {
      if (step.created_at < from || step.created_at >= to)
        continue;
      const auto& what = db_->jobs.at(seq);
      const auto day = std::chrono::floor<std::chrono::days>(step.created_at);
      const std::chrono::year_month_day date{day};
      char text[16];
      std::snprintf(text, sizeof(text), "%04d-%02u-%02u", int{date.year()},
                    unsigned{date.month()}, unsigned{date.day()});
      const auto key = by == usage_group::type ? what.type
        : by == usage_group::user              ? what.user_id.value_or("")
                                               : std::string{text};
      auto& row = rows[key];
      row.key = key;
      row.jobs += counted.insert({key, seq}).second;
      ++row.steps;
      row.used += step.used;
    }
  }
  std::vector<usage_row> result;
  for (auto& [key, row] : rows)
    result.push_back(std::move(row));
  auto size = [](const usage& x) {
    return std::pair{x.input_tokens + x.output_tokens, x.images};
  };
  std::stable_sort(result.begin(), result.end(),
                   [&](const usage_row& a, const usage_row& b) {
                     return size(a.used) > size(b.used);
                   });
  return result;
}

std::vector<error_group> fake_store::error_groups(const failure_filter& filter,
                                                  uint32_t limit) {
  before_read();
  std::map<std::string, error_group> groups;
  for (const auto& [seq, x] : db_->jobs) {
    if (!fits(x, filter))
      continue;
    const auto message = x.error_message.value_or("");
    auto& group = groups[fingerprint_of(message)];
    const auto at = x.finished_at.value_or(x.updated_at);
    if (group.count++ == 0) {
      group.fingerprint = fingerprint_of(message);
      group.pattern = error_pattern(message);
      group.first_seen = group.last_seen = at;
    }
    group.first_seen = std::min(group.first_seen, at);
    if (at >= group.last_seen) {
      group.last_seen = at;
      group.example_job_id = x.id;
      group.example_message = message;
    }
    if (std::find(group.types.begin(), group.types.end(), x.type)
        == group.types.end())
      group.types.push_back(x.type);
  }
  std::vector<error_group> result;
  for (auto& [fingerprint, group] : groups) {
    std::sort(group.types.begin(), group.types.end());
    result.push_back(std::move(group));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const error_group& a, const error_group& b) {
                     return a.last_seen > b.last_seen;
                   });
  result.resize(std::min(result.size(), size_t{limit}));
  return result;
}

failure_preview fake_store::preview_failures(const failure_filter& filter) {
  before_read();
  failure_preview result;
  for (auto i = db_->jobs.rbegin(); i != db_->jobs.rend(); ++i) {
    if (!fits(i->second, filter))
      continue;
    if (++result.matched <= 10)
      result.sample.push_back(i->second);
  }
  return result;
}

std::optional<queue_facts> fake_store::facts_about(const std::string& job_id) {
  before_read();
  auto* found = db_->find(job_id);
  if (found == nullptr)
    return std::nullopt;
  queue_facts result;
  result.job = *found;
  result.now = db_->now;
  if (db_->is_paused(found->type))
    result.pause = db_->types.at(found->type);
  if (found->status == job_status::pending)
    for (const auto& [seq, x] : db_->jobs)
      result.ahead += x.status == job_status::pending && x.run_at <= db_->now
        && !db_->is_paused(x.type) && claimed_sooner(x, *found);
  return result;
}

std::vector<type_state> fake_store::type_states() {
  before_read();
  std::vector<type_state> result;
  for (const auto& [type, state] : db_->types)
    result.push_back(state);
  return result;
}

std::optional<summary_view> fake_store::find_summary(const std::string& id) {
  before_read();
  auto i = db_->summaries.find(id);
  if (i == db_->summaries.end())
    return std::nullopt;
  summary_view result;
  result.what = i->second;
  result.cards = cards_between(i->second.user_id, i->second.day_start,
                               i->second.day_end, 1'000);
  for (auto& card : result.cards)
    card.embedding.clear();
  for (const auto& x : db_->tils)
    if (x.daily_summary_id == id)
      result.til = x;
  for (const auto& x : db_->recalls)
    if (x.daily_summary_id == id)
      result.recall = x;
  return result;
}

std::optional<summary_view> fake_store::find_summary_of(
  const std::optional<std::string>& user_id, const std::string& date) {
  const daily_summary* newest = nullptr;
  for (const auto& [id, x] : db_->summaries)
    if (x.user_id == user_id && x.date == date
        && (newest == nullptr || x.created_at >= newest->created_at))
      newest = &x;
  if (newest == nullptr)
    return std::nullopt;
  return find_summary(newest->id);
}

std::vector<knowledge_card> fake_store::cards_between(
  const std::optional<std::string>& user_id, timestamp from, timestamp to,
  uint32_t limit) {
  before_read();
  std::vector<knowledge_card> result;
  for (const auto& [id, x] : db_->cards)
    if (x.user_id == user_id && x.created_at >= from && x.created_at < to)
      result.push_back(x);
  std::stable_sort(result.begin(), result.end(),
                   [](const knowledge_card& a, const knowledge_card& b) {
                     return a.created_at < b.created_at;
                   });
  result.resize(std::min(result.size(), size_t{limit}));
  return result;
}

std::vector<card_hit> fake_store::similar_cards(const card_search& what) {
  before_read();
  embedding_index index;
  int64_t seq = 0;
  for (const auto& [id, x] : db_->cards)
    index.add(++seq, id, x.user_id, x.created_at, x.embedding);
  std::vector<card_hit> result;
  for (const auto& hit :
       index.search(what.embedding, what.user_id, what.before, what.limit)) {
    result.push_back({db_->cards.at(hit.card_id), hit.similarity});
    result.back().card.embedding.clear();
  }
  return result;
}

std::optional<content> fake_store::find_content(const std::string& id) {
  before_read();
  auto i = db_->contents.find(id);
  if (i == db_->contents.end())
    return std::nullopt;
  auto result = i->second;
  if (const auto* maker = db_->find(result.job_id)) {
    result.status = maker->status;
    result.progress_percent = maker->progress_percent;
    result.progress_message = maker->progress_message;
    result.error_message = maker->error_message;
  }
  return result;
}

std::vector<content> fake_store::list_contents(
  const std::optional<std::string>& before_id, uint32_t limit) {
  before_read();
  std::vector<content> result;
  for (auto i = db_->contents.rbegin(); i != db_->contents.rend(); ++i)
    if ((!before_id || i->first < *before_id) && result.size() < limit)
      result.push_back(*find_content(i->first));
  return result;
}

std::optional<page_image> fake_store::find_image(const std::string& content_id,
                                                 int number) {
  before_read();
  auto i = db_->images.find({content_id, number});
  return i != db_->images.end() ? std::optional{i->second} : std::nullopt;
}

account fake_store::find_account(const std::string& user_id, uint32_t limit) {
  before_read();
  account result{user_id, db_->balances[user_id], {}};
  for (auto i = db_->ledger.rbegin(); i != db_->ledger.rend(); ++i)
    if (i->user_id == user_id && result.entries.size() < limit)
      result.entries.push_back(*i);
  return result;
}

} // namespace reeve::test
