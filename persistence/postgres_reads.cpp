// persistence/postgres_reads.cpp -- what people and the API ask.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_store.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/uuid.hpp"

namespace reeve {

namespace {

constexpr postgres_statement job_sql{
  "job", "SELECT" REEVE_POSTGRES_JOB_COLUMNS "FROM reeve.jobs WHERE id = $1"};

constexpr postgres_statement attempts_sql{"attempts", R"(
  SELECT a.run, a.node, a.started_at, a.finished_at, a.outcome, a.error,
    a.decision, a.why, a.next_run_at
  FROM reeve.job_attempts a JOIN reeve.job j ON j.seq = a.seq
  WHERE j.id = $1 ORDER BY a.run)"};

constexpr postgres_statement scrap_sql{"scrap", R"(
  SELECT id, content, title, url, user_id, created_at
  FROM reeve.scraps WHERE id = $1)"};

constexpr postgres_statement card_sql{"card",
                                      "SELECT" REEVE_POSTGRES_CARD_COLUMNS
                                      "FROM reeve.knowledge_cards"
                                      " WHERE id = $1"};

constexpr postgres_statement list_cards_sql{
  "list_cards",
  "SELECT" REEVE_POSTGRES_BARE_CARD_COLUMNS
  "FROM reeve.knowledge_cards WHERE id < $1 ORDER BY id DESC LIMIT $2"};

constexpr postgres_statement cards_of_scrap_sql{
  "cards_of_scrap",
  "SELECT" REEVE_POSTGRES_CARD_COLUMNS
  "FROM reeve.knowledge_cards WHERE scrap_id = $1"
  " ORDER BY seq DESC LIMIT $2"};

constexpr postgres_statement counts_sql{"counts", R"(
  SELECT job_type, 'PENDING', count(*) FROM reeve.queue GROUP BY job_type
  UNION ALL
  SELECT job_type, 'PROCESSING', count(*) FROM reeve.running GROUP BY job_type
  UNION ALL
  SELECT job_type, outcome, sum(jobs)::bigint FROM reeve.finished_counts
  GROUP BY job_type, outcome HAVING sum(jobs) > 0
  ORDER BY 1, 2)"};

constexpr postgres_statement count_rows_sql{"count_rows", R"(
  SELECT count(*) FROM reeve.finished_counts)"};

// Two nodes that do this at once each sum up other rows.
constexpr postgres_statement sum_counts_sql{"sum_counts", R"(
  WITH held AS MATERIALIZED (
    SELECT ctid FROM reeve.finished_counts FOR UPDATE SKIP LOCKED),
  taken AS (
    DELETE FROM reeve.finished_counts c USING held WHERE c.ctid = held.ctid
    RETURNING c.*)
  INSERT INTO reeve.finished_counts (job_type, outcome, jobs)
  SELECT job_type, outcome, sum(jobs) FROM taken GROUP BY job_type, outcome)"};
constexpr int64_t max_count_rows = 1'000;

// One look-up for each type and priority: due jobs stand together within it.
constexpr postgres_statement oldest_due_sql{"oldest_due", R"(
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
    UNION ALL
    SELECT level.job_type, (SELECT min(q.priority) FROM reeve.queue q
                            WHERE q.job_type = level.job_type
                              AND q.priority > level.priority)
    FROM level WHERE level.priority IS NOT NULL)
  SELECT reeve.micros(now()) - reeve.micros(min(x.due))
  FROM level CROSS JOIN LATERAL (
    SELECT min(q.run_at) AS due FROM reeve.queue q
    WHERE q.job_type = level.job_type AND q.priority = level.priority
      AND q.run_at <= now()) x)"};

// -- listing ------------------------------------------------------------------

// Fixed pieces only; values are parameters. The view computes the status, so
// each one names the table or index in which few rows have another one.
std::string_view condition_for(job_status status) {
  switch (status) {
    case job_status::pending:
      return " AND status = 'PENDING' AND seq IN (SELECT seq FROM reeve.queue)";
    case job_status::processing:
      return " AND status = 'PROCESSING'"
             " AND seq IN (SELECT seq FROM reeve.running)";
    case job_status::completed:
      return " AND outcome = 'COMPLETED'";
    case job_status::failed:
      return " AND outcome = 'FAILED' AND seq IN"
             " (SELECT seq FROM reeve.job WHERE failed_at IS NOT NULL)";
    case job_status::cancelled:
      return " AND outcome = 'CANCELLED' AND seq IN"
             " (SELECT seq FROM reeve.job WHERE is_cancelled)";
  }
  return "";
}

struct listing {
  std::string sql =
    "SELECT" REEVE_POSTGRES_JOB_COLUMNS "FROM reeve.jobs WHERE true";
  pqxx::params params;

  template <class T>
  void where(const char* condition, const std::optional<T>& value) {
    if (!value)
      return;
    params.append(*value);
    sql += condition;
    sql += '$' + std::to_string(params.size());
  }
};

listing listing_for(const job_filter& x) {
  listing result;
  if (x.status)
    result.sql += condition_for(*x.status);
  result.where(" AND job_type = ", x.type);
  // As the index has it.
  if (x.target_id) {
    result.where(" AND target_id = ", x.target_id);
    result.sql += " AND hashtextextended(target_id, 0) = hashtextextended($"
      + std::to_string(result.params.size()) + ", 0)";
  }
  result.where(" AND user_id = ", x.user_id);
  result.where(" AND error_message LIKE ", x.error_like);
  result.where(" AND seq < ", x.before_seq);
  result.where(" ORDER BY seq DESC LIMIT ", std::optional{int64_t{x.limit}});
  return result;
}

} // namespace

std::optional<job> postgres_store::find_job(const std::string& id) {
  if (!is_uuid(id))
    return std::nullopt;
  return session_.read([&](postgres_snapshot& tx) {
    return first_row(session_.run(tx, job_sql, pqxx::params{id}), read_job);
  });
}

std::vector<job> postgres_store::list_jobs(const job_filter& filter) {
  if (!can_match(filter))
    return {};
  const auto what = listing_for(filter);
  return session_.read([&](postgres_snapshot& tx) -> std::vector<job> {
    try {
      // Not prepared: the plan shall know the values.
      return all_rows(tx.exec(what.sql, what.params), read_job);
    } catch (const pqxx::data_exception&) {
      // A pattern that ends in a lone backslash matches nothing.
      return {};
    }
  });
}

std::vector<attempt> postgres_store::attempts_of(const std::string& job_id) {
  if (!is_uuid(job_id))
    return {};
  return session_.read([&](postgres_snapshot& tx) {
    return all_rows(session_.run(tx, attempts_sql, pqxx::params{job_id}),
                    read_attempt);
  });
}

std::optional<scrap> postgres_store::find_scrap(const std::string& id) {
  if (!is_uuid(id))
    return std::nullopt;
  return session_.read([&](postgres_snapshot& tx) {
    return first_row(session_.run(tx, scrap_sql, pqxx::params{id}), read_scrap);
  });
}

std::optional<knowledge_card> postgres_store::find_card(const std::string& id) {
  if (!is_uuid(id))
    return std::nullopt;
  return session_.read([&](postgres_snapshot& tx) {
    return first_row(session_.run(tx, card_sql, pqxx::params{id}), read_card);
  });
}

std::vector<knowledge_card> postgres_store::cards_of_scrap(
  const std::string& scrap_id, uint32_t limit) {
  if (!is_uuid(scrap_id))
    return {};
  return session_.read([&](postgres_snapshot& tx) {
    return all_rows(session_.run(tx, cards_of_scrap_sql,
                                 pqxx::params{scrap_id, int64_t{limit}}),
                    read_card);
  });
}

std::vector<knowledge_card> postgres_store::list_cards(
  const std::optional<std::string>& before_id, uint32_t limit) {
  const auto before = before_id.value_or(std::string{last_uuid});
  if (!is_uuid(before))
    return {};
  return session_.read([&](postgres_snapshot& tx) {
    return all_rows(
      session_.run(tx, list_cards_sql, pqxx::params{before, int64_t{limit}}),
      read_card);
  });
}

store_stats postgres_store::stats() {
  bool has_many_rows = false;
  auto result = session_.read([&](postgres_snapshot& tx) {
    store_stats result;
    for (const auto& row : session_.run(tx, counts_sql))
      result.counts.push_back(
        {row[0].as<std::string>(),
         job_status_from(row[1].view()).value_or(job_status::failed),
         row[2].as<int64_t>()});
    const auto oldest = session_.run(tx, oldest_due_sql).one_row();
    if (!oldest[0].is_null())
      result.oldest_due_age = std::chrono::floor<std::chrono::milliseconds>(
        read_time(oldest[0]).time_since_epoch());
    const auto rows = session_.run(tx, count_rows_sql).one_row();
    has_many_rows = rows[0].as<int64_t>() > max_count_rows;
    return result;
  });
  if (has_many_rows)
    session_.translated([&] {
      pqxx::work tx{session_.connection()};
      session_.run(tx, sum_counts_sql);
      tx.commit();
    });
  return result;
}

void postgres_store::ping() {
  session_.read([](postgres_snapshot& tx) {
    tx.exec("SELECT 1 FROM reeve.job LIMIT 1");
    return true;
  });
}

} // namespace reeve
