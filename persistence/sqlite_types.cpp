// persistence/sqlite_types.cpp -- paused types, and what keeps jobs waiting.
#include "persistence/sqlite_queue.hpp"
#include "persistence/sqlite_rows.hpp"
#include "persistence/sqlite_store.hpp"
#include "persistence/sqlite_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/uuid.hpp"

#include <algorithm>

namespace reeve {

namespace {

// `since` is when the state changed, not when it was last confirmed.
constexpr const char* pause_sql = R"(
  INSERT INTO types (job_type, paused, reason, since) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT (job_type) DO UPDATE SET
    since = CASE WHEN paused = excluded.paused THEN since
      ELSE excluded.since END,
    paused = excluded.paused, reason = excluded.reason)";

constexpr const char* states_sql = R"(
  SELECT job_type, paused, reason, since FROM types ORDER BY job_type)";
constexpr const char* state_sql = R"(
  SELECT job_type, paused, reason, since FROM types WHERE job_type = ?)";

constexpr const char* due_sql = R"(
  SELECT count(*) FROM (SELECT 1 FROM queue
    WHERE job_type = ? AND priority = ? AND run_at <= ? LIMIT ?))";
constexpr const char* due_before_sql = R"(
  SELECT count(*) FROM (SELECT 1 FROM queue
    WHERE job_type = ?1 AND priority = ?2 AND run_at <= ?3
      AND (run_at, seq) < (?4, ?5) LIMIT ?6))";

type_state read_state(const sqlite_query& row) {
  return {row.text(0), row.integer(1) != 0, row.text(2), row.time(3)};
}

// Due jobs of one type that are claimed before `x`, counted up to `limit`.
int64_t due_before(sqlite_connection& db, const std::string& type, const job& x,
                   timestamp now, int64_t limit) {
  int64_t result = 0;
  for (auto priority : waiting_priorities(db, type)) {
    if (priority > x.priority || result >= limit)
      break;
    const auto same = priority == x.priority;
    sqlite_query query{db.prepared(same ? due_before_sql : due_sql)};
    query.bind(type, priority, now);
    if (same)
      query.bind(x.run_at, x.seq);
    query.bind(limit - result).next();
    result += query.integer(0);
  }
  return result;
}

int64_t jobs_ahead(sqlite_connection& db, const job& x, timestamp now) {
  int64_t result = 0;
  for (const auto& type : waiting_types(db))
    if (result < max_ahead && !is_paused(db, type))
      result += due_before(db, type, x, now, max_ahead - result);
  return result;
}

std::optional<type_state> pause_of(sqlite_connection& db,
                                   const std::string& type) {
  sqlite_query query{db.prepared(state_sql)};
  if (!query.bind(type).next())
    return std::nullopt;
  auto result = read_state(query);
  return result.paused ? std::optional{std::move(result)} : std::nullopt;
}

} // namespace

write_answer sqlite_writer::on(const pause_write& x, bool) {
  if (auto no = check(x))
    return *std::move(no);
  sqlite_query query{db_.prepared(pause_sql)};
  query.bind(x.type, x.paused ? 1 : 0, x.paused ? x.reason : std::string{},
             now_);
  query.run();
  return done{};
}

std::vector<type_state> sqlite_store::type_states() {
  return translated([&] {
    std::vector<type_state> result;
    sqlite_query query{connection().prepared(states_sql)};
    while (query.next())
      result.push_back(read_state(query));
    return result;
  });
}

std::optional<queue_facts> sqlite_store::facts_about(
  const std::string& job_id) {
  if (!is_uuid(job_id))
    return std::nullopt;
  return translated([&]() -> std::optional<queue_facts> {
    auto& db = connection();
    // One snapshot for all questions.
    sqlite_transaction snapshot{db, "BEGIN"};
    auto known = job_by_id(db, lower_case(job_id));
    if (!known)
      return std::nullopt;
    queue_facts result;
    result.now = clock_();
    result.pause = pause_of(db, known->type);
    if (known->status == job_status::pending)
      result.ahead = jobs_ahead(db, *known, result.now);
    result.job = *std::move(known);
    return result;
  });
}

} // namespace reeve
