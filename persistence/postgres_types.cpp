// persistence/postgres_types.cpp -- paused types, and what keeps jobs waiting.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_store.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/uuid.hpp"

namespace reeve {

namespace {

// `since` is when it was last paused or resumed, not when it was last said.
constexpr postgres_statement pause_sql{"pause", R"(
  INSERT INTO reeve.types (job_type, paused, reason) VALUES ($1, $2, $3)
  ON CONFLICT (job_type) DO UPDATE SET paused = EXCLUDED.paused,
    reason = EXCLUDED.reason,
    since = CASE WHEN types.paused = EXCLUDED.paused THEN types.since
                 ELSE EXCLUDED.since END)"};

constexpr postgres_statement notify_sql{"notify_resumed",
                                        "SELECT pg_notify('reeve_queue', '')"};

#define REEVE_TYPE_COLUMNS " job_type, paused, reason, since "

constexpr postgres_statement types_sql{
  "types",
  "SELECT" REEVE_TYPE_COLUMNS
  "FROM reeve.types ORDER BY job_type COLLATE \"C\""};

constexpr postgres_statement paused_sql{
  "paused",
  "SELECT" REEVE_TYPE_COLUMNS
  "FROM reeve.types WHERE job_type = $1 AND paused"};

constexpr postgres_statement now_sql{"now", "SELECT now()"};

constexpr postgres_statement job_sql{"facts_job",
                                     "SELECT" REEVE_POSTGRES_JOB_COLUMNS
                                     "FROM reeve.jobs WHERE id = $1"};

// Looks at each type and priority apart, as a claim does.
constexpr postgres_statement ahead_sql{"ahead", R"(
  WITH RECURSIVE kind(job_type) AS (
    SELECT min(job_type) FROM reeve.queue
    UNION ALL
    SELECT (SELECT min(q.job_type) FROM reeve.queue q
            WHERE q.job_type > kind.job_type)
    FROM kind WHERE kind.job_type IS NOT NULL),
  level(job_type, priority) AS (
    SELECT kind.job_type, (SELECT min(q.priority) FROM reeve.queue q
                           WHERE q.job_type = kind.job_type)
    FROM kind
    WHERE NOT EXISTS (SELECT FROM reeve.types p
                      WHERE p.job_type = kind.job_type AND p.paused)
    UNION ALL
    SELECT level.job_type, (SELECT min(q.priority) FROM reeve.queue q
                            WHERE q.job_type = level.job_type
                              AND q.priority > level.priority)
    FROM level WHERE level.priority IS NOT NULL)
  SELECT count(*) FROM (
    SELECT FROM level CROSS JOIN LATERAL (
      SELECT FROM reeve.queue q
      WHERE q.job_type = level.job_type AND q.priority = level.priority
        AND q.run_at <= CASE WHEN level.priority < $1 THEN now()
          ELSE least(now(), reeve.instant($2)) END
        AND (level.priority < $1
          OR (q.run_at, q.seq) < (reeve.instant($2), $3))
      LIMIT $4) q
    WHERE level.priority <= $1
    LIMIT $4) sooner)"};

type_state read_type(const pqxx::row& row) {
  return {row[0].as<std::string>(), row[1].as<bool>(), row[2].as<std::string>(),
          read_time(row[3])};
}

} // namespace

void postgres_writer::pause(const slot<pause_write>& x) {
  if (auto no = check(x.what)) {
    x.answer = *std::move(no);
    return;
  }
  const auto& what = x.what;
  run(pause_sql,
      pqxx::params{what.type, what.paused,
                   what.paused ? what.reason : std::string{}});
  // Other nodes may have room for what may run now.
  if (!what.paused)
    run(notify_sql);
  x.answer = done{};
}

std::vector<type_state> postgres_store::type_states() {
  return session_.read([&](postgres_snapshot& tx) {
    return all_rows(session_.run(tx, types_sql), read_type);
  });
}

std::optional<queue_facts> postgres_store::facts_about(
  const std::string& job_id) {
  if (!is_uuid(job_id))
    return std::nullopt;
  return session_.read([&](
                         postgres_snapshot& tx) -> std::optional<queue_facts> {
    auto found =
      first_row(session_.run(tx, job_sql, pqxx::params{job_id}), read_job);
    if (!found)
      return std::nullopt;
    queue_facts result;
    result.job = *std::move(found);
    const auto& x = result.job;
    result.now = read_time(session_.run(tx, now_sql).one_row()[0]);
    result.pause =
      first_row(session_.run(tx, paused_sql, pqxx::params{x.type}), read_type);
    if (x.status == job_status::pending)
      result.ahead =
        session_
          .run(tx, ahead_sql,
               pqxx::params{x.priority, micros(x.run_at), x.seq, max_ahead})
          .one_row()[0]
          .as<int64_t>();
    return result;
  });
}

} // namespace reeve
