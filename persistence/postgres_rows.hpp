// persistence/postgres_rows.hpp -- how rows become jobs, attempts, scraps and
// cards.
#pragma once

#include "persistence/job.hpp"

#include <pqxx/pqxx>

namespace reeve {

/// The columns of the view `reeve.jobs` that `read_job` expects.
#define REEVE_POSTGRES_JOB_COLUMNS \
  " seq, id, job_type, status, target_id, user_id, payload, result," \
  " progress_percent, progress_message, error_message, attempts," \
  " max_attempts, priority, unique_key, reeve.micros(run_at), reason," \
  " cancel_requested, throttled, provider_down, interrupted, version, run," \
  " reeve.micros(created_at), reeve.micros(started_at)," \
  " reeve.micros(finished_at), reeve.micros(updated_at) "

/// How many columns that are: a query's own ones come behind.
inline constexpr int postgres_job_columns = 27;

job read_job(const pqxx::row& row);

/// Columns: run, node, started_at, finished_at, outcome, error, decision, why,
/// next_run_at.
attempt read_attempt(const pqxx::row& row);

/// Columns: id, content, title, url, user_id, created_at.
scrap read_scrap(const pqxx::row& row);

/// Columns: id, scrap_id, job_id, user_id, summary, tags, embedding, model,
/// created_at.
knowledge_card read_card(const pqxx::row& row);

/// Microseconds since the epoch.
timestamp read_time(const pqxx::field& field);

std::optional<std::string> read_text(const pqxx::field& field);

} // namespace reeve
