// tests/support/fake_database.cpp -- the rules of a store, without its
// database.
#include "support/fake_database.hpp"

#include "persistence/fingerprint.hpp"

#include <algorithm>
#include <tuple>

namespace reeve::test {

namespace {

// SQL's LIKE with `\\` as its escape.
bool is_like(std::string_view text, std::string_view pattern) {
  if (pattern.empty())
    return text.empty();
  const auto rest = pattern.substr(1);
  if (pattern.front() == '%')
    return is_like(text, rest)
      || (!text.empty() && is_like(text.substr(1), pattern));
  if (text.empty())
    return false;
  if (pattern.front() == '\\' && !rest.empty())
    return text.front() == rest.front()
      && is_like(text.substr(1), rest.substr(1));
  return (pattern.front() == '_' || pattern.front() == text.front())
    && is_like(text.substr(1), rest);
}

} // namespace

bool claimed_sooner(const job& a, const job& b) {
  return std::tie(a.priority, a.run_at, a.seq)
    < std::tie(b.priority, b.run_at, b.seq);
}

bool fits(const job& x, const failure_filter& filter) {
  const auto error = x.error_message.value_or("");
  return x.status == job_status::failed
    && (!filter.type || x.type == *filter.type)
    && (!filter.error_like || is_like(error, *filter.error_like))
    && (!filter.fingerprint || fingerprint_of(error) == *filter.fingerprint)
    && (!filter.from || x.finished_at >= *filter.from)
    && (!filter.to || x.finished_at < *filter.to);
}

job* fake_database::find(const std::string& id) {
  for (auto& [seq, x] : jobs)
    if (x.id == id)
      return &x;
  return nullptr;
}

job* fake_database::find_running(int64_t seq, int64_t run) {
  auto i = jobs.find(seq);
  if (i == jobs.end() || i->second.run != run
      || i->second.status != job_status::processing)
    return nullptr;
  return &i->second;
}

bool fake_database::is_paused(const std::string& type) const {
  auto i = types.find(type);
  return i != types.end() && i->second.paused;
}

bool fake_database::book(const std::string& user_id, ledger_kind kind,
                         int64_t amount,
                         const std::optional<std::string>& job_id,
                         std::string note) {
  auto& balance = balances[user_id];
  if (balance + amount < 0)
    return false;
  balance += amount;
  const auto seq = static_cast<int64_t>(ledger.size()) + 1;
  ledger.push_back({seq, user_id, kind, amount, job_id, std::move(note), now});
  return true;
}

namespace {

int64_t taken_for(const fake_database& db, const job& x) {
  int64_t result = 0;
  for (const auto& line : db.ledger)
    if (line.job_id == x.id)
      result -= line.amount;
  return result;
}

} // namespace

bool fake_database::charge(const job& x) {
  const auto price = prices[x.seq];
  return price == 0 || taken_for(*this, x) > 0
    || book(x.user_id.value(), ledger_kind::charge, -price, x.id);
}

void fake_database::refund(const job& x) {
  if (const auto taken = taken_for(*this, x))
    book(x.user_id.value(), ledger_kind::refund, taken, x.id);
}

bool fake_database::store(const std::vector<effect>& effects) {
  auto before = *this;
  struct visitor {
    fake_database& db;

    bool operator()(const knowledge_card& x) {
      if (!db.scraps.contains(x.scrap_id))
        return false;
      db.cards.insert_or_assign(x.id, x).first->second.created_at = db.now;
      return true;
    }
    bool operator()(const til_entry& x) {
      if (!db.summaries.contains(x.daily_summary_id))
        return false;
      db.tils.push_back(x);
      return true;
    }
    bool operator()(const recall_entry& x) {
      if (!db.summaries.contains(x.daily_summary_id))
        return false;
      db.recalls.push_back(x);
      return true;
    }
    bool operator()(const book_pages& x) {
      auto i = db.contents.find(x.content_id);
      if (i == db.contents.end())
        return false;
      auto& pages = i->second.pages;
      pages.resize(x.texts.size());
      for (size_t n = 0; n < pages.size(); ++n) {
        pages[n].number = static_cast<int>(n) + 1;
        pages[n].text = x.texts[n];
      }
      std::erase_if(db.images, [&](const auto& image) {
        return image.first.first == x.content_id
          && image.first.second > static_cast<int>(pages.size());
      });
      return true;
    }
    bool operator()(const page_image& x) {
      auto i = db.contents.find(x.content_id);
      if (i == db.contents.end() || x.number < 1
          || x.number > static_cast<int>(i->second.pages.size()))
        return false;
      i->second.pages[static_cast<size_t>(x.number) - 1].image = x.info;
      db.images.insert_or_assign({x.content_id, x.number}, x);
      return true;
    }
  };
  // `effect` lists pages before their pictures, which may come in any order.
  auto order = effects;
  std::stable_sort(
    order.begin(), order.end(),
    [](const effect& a, const effect& b) { return a.index() < b.index(); });
  for (const auto& x : order)
    if (!std::visit(visitor{*this}, x)) {
      *this = std::move(before);
      return false;
    }
  return true;
}

} // namespace reeve::test
