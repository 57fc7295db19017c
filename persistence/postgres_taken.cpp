// persistence/postgres_taken.cpp -- the rows of a claim, and when to read them.
#include "persistence/postgres_taken.hpp"

#include "persistence/postgres_queue.hpp"
#include "persistence/postgres_rows.hpp"
#include "persistence/store_rules.hpp"

#include <algorithm>
#include <utility>

namespace reeve {

namespace {

// Columns of a row with a job, by place, and behind them those of the head.
constexpr int seq_column = 0;
constexpr int type_column = 2;
constexpr int now_column = postgres_claimed_columns;
constexpr int missed_column = postgres_claimed_columns + 1;
constexpr int next_column = postgres_claimed_columns + 2;
constexpr int paused_column = postgres_claimed_columns + 3;

} // namespace

void postgres_taken::add(pqxx::result rows) {
  const auto i = std::ranges::find_if(
    rows, [](const pqxx::row& x) { return x[seq_column].is_null(); });
  const auto head = *i;
  missed_ = head[missed_column].is_null() ? std::vector<int64_t>{}
                                          : read_integers(head[missed_column]);
  rest_.paused = head[paused_column].is_null()
    ? std::vector<std::string>{}
    : read_texts(head[paused_column]);
  if (missed_.empty() && !head[next_column].is_null())
    rest_.next_due_in =
      until(read_time(head[now_column]), read_time(head[next_column]));
  size_ += static_cast<size_t>(rows.size()) - 1;
  const auto place = static_cast<int>(i - rows.begin());
  looks_.push_back({std::move(rows), place});
}

template <class F>
void postgres_taken::for_each_row(F f) const {
  for (const auto& [rows, head] : looks_) {
    const auto now = read_time(rows[head][now_column]);
    for (int i = 0; i < rows.size(); ++i)
      if (i != head)
        f(rows[i], now);
  }
}

std::map<std::string, size_t> postgres_taken::count_by_type() const {
  // Jobs of one type mostly come one after the other.
  std::map<std::string, size_t> result;
  auto last = result.end();
  for_each_row([&](const pqxx::row& row, timestamp) {
    const auto type = row[type_column].view();
    if (last == result.end() || last->first != type)
      last = result.try_emplace(std::string{type}).first;
    ++last->second;
  });
  return result;
}

claimed postgres_taken::read() {
  claimed result = std::move(rest_);
  result.jobs.reserve(size_);
  // Who got all it asked for asks again anyway.
  result.more = result.more || is_full();
  for_each_row([&](const pqxx::row& row, timestamp now) {
    try {
      result.jobs.push_back(read_claimed(row, now));
    } catch (const pqxx::conversion_error&) {
      // What somebody wrote by hand must not cost the others their runs.
      result.more = true;
    }
  });
  // They come in the order of their places, which often is this one.
  if (!std::ranges::is_sorted(result.jobs, is_claimed_before))
    std::ranges::sort(result.jobs, is_claimed_before);
  looks_.clear();
  return result;
}

} // namespace reeve
