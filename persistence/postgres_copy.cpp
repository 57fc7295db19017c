// persistence/postgres_copy.cpp -- many jobs at once, by COPY.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"

#include <algorithm>
#include <cstdio>

namespace reeve {

namespace {

// No row when this user may only add jobs: INSERT needs no right to use the
// sequence. The clock is read once, not for each number.
constexpr postgres_statement reserve_sql{"reserve_jobs", R"(
  SELECT nextval('reeve.job_seq_seq'), clock.now
  FROM (SELECT reeve.micros(now()) AS now OFFSET 0) AS clock
  CROSS JOIN generate_series(1, $1)
  WHERE has_sequence_privilege('reeve.job_seq_seq', 'USAGE'))"};

// Columns that are left out have their defaults: created_at is the same `now()`
// as was read.
constexpr const char* job_columns =
  "seq, id, job_type, target_id, user_id, payload, priority, run_at,"
  " max_attempts";
constexpr const char* traced_job_columns =
  "seq, id, job_type, target_id, user_id, payload, priority, run_at,"
  " max_attempts, traceparent, tracestate";
constexpr const char* queue_columns = "seq, job_type, priority, run_at";

// As PostgreSQL reads it. Expects a year from 1 to 9999.
std::string instant_text(timestamp x) {
  using namespace std::chrono;
  const auto day = floor<days>(x);
  const year_month_day date{day};
  const hh_mm_ss time{floor<microseconds>(x - day)};
  char result[64];
  std::snprintf(
    result, sizeof result, "%04d-%02u-%02u %02d:%02d:%02d.%06d+00",
    static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
    static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
    static_cast<int>(time.minutes().count()),
    static_cast<int>(time.seconds().count()),
    static_cast<int>(time.subseconds().count()));
  return result;
}

struct reservation {
  int64_t seq;
  timestamp run_at;
  std::string run_at_text;
};

} // namespace

bool postgres_writer::copy_jobs(const std::vector<arrival*>& arrivals) {
  const auto numbers =
    run(reserve_sql, pqxx::params{static_cast<int64_t>(arrivals.size())});
  if (numbers.empty())
    return false;
  const auto now = read_time(numbers[0][1]);
  const auto now_text = instant_text(now);
  std::vector<reservation> places;
  places.reserve(arrivals.size());
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const auto seq = numbers[static_cast<int>(i)][0].as<int64_t>();
    if (const auto& due = arrivals[i]->what.run_at)
      places.push_back({seq, *due, instant_text(*due)});
    else
      places.push_back({seq, now, now_text});
  }
  try {
    const auto traced = std::ranges::any_of(
      arrivals, [](const arrival* x) { return bool{x->what.trace}; });
    auto to = pqxx::stream_to::raw_table(
      tx_, "reeve.job", traced ? traced_job_columns : job_columns);
    for (size_t i = 0; i < arrivals.size(); ++i) {
      const auto& x = arrivals[i]->what;
      if (traced)
        to.write_values(places[i].seq, x.id, x.type, x.target_id, x.user_id,
                        x.payload.text(), x.priority, places[i].run_at_text,
                        x.max_attempts, text_or_null(x.trace.parent),
                        text_or_null(x.trace.state));
      else
        to.write_values(places[i].seq, x.id, x.type, x.target_id, x.user_id,
                        x.payload.text(), x.priority, places[i].run_at_text,
                        x.max_attempts);
    }
    to.complete();
    auto waiting =
      pqxx::stream_to::raw_table(tx_, "reeve.queue", queue_columns);
    for (size_t i = 0; i < arrivals.size(); ++i)
      waiting.write_values(places[i].seq, arrivals[i]->what.type,
                           arrivals[i]->what.priority, places[i].run_at_text);
    waiting.complete();
  } catch (const std::exception& err) {
    if (classify(err) == postgres_failure::refused)
      throw copy_refused{};
    throw;
  }
  for (size_t i = 0; i < arrivals.size(); ++i)
    place(*arrivals[i], places[i].seq, places[i].run_at, now);
  return true;
}

} // namespace reeve
