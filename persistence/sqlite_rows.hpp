// persistence/sqlite_rows.hpp -- how rows become jobs, attempts, scraps and
// cards.
#pragma once

#include "persistence/cards.hpp"
#include "persistence/sqlite_connection.hpp"

#include <optional>
#include <string>
#include <vector>

namespace reeve {

/// The columns `read_job` expects, of `job` j, `queue` q and `running` r, of
/// which at most one of the latter two has a row.
#define REEVE_SQLITE_JOB_COLUMNS \
  " j.seq, j.id, j.job_type, j.outcome, r.seq, j.target_id, j.user_id," \
  " j.payload, j.result, coalesce(r.progress_percent, j.progress_percent)," \
  " coalesce(r.progress_message, j.progress_message), j.error_message," \
  " coalesce(r.attempts, q.attempts, j.attempts), j.max_attempts," \
  " j.priority, j.unique_key, coalesce(r.run_at, q.run_at, j.run_at)," \
  " coalesce(q.reason, ''), coalesce(r.cancel_requested, 0)," \
  " coalesce(r.throttled, q.throttled, j.throttled)," \
  " coalesce(r.provider_down, q.provider_down, j.provider_down)," \
  " coalesce(r.interrupted, q.interrupted, j.interrupted)," \
  " coalesce(r.version, q.version, j.version)," \
  " coalesce(r.run, q.run, j.run), j.created_at," \
  " coalesce(r.started_at, j.started_at), j.finished_at," \
  " coalesce(r.updated_at, q.updated_at, j.updated_at), j.input_tokens," \
  " j.output_tokens, j.images, j.traceparent, j.tracestate "

job read_job(const sqlite_query& row);

/// Columns: run, node, started_at, finished_at, outcome, error, decision, why,
/// next_run_at.
attempt read_attempt(const sqlite_query& row);

/// Columns: id, content, title, url, user_id, created_at.
scrap read_scrap(const sqlite_query& row);

/// Columns: id, scrap_id, job_id, user_id, summary, tags, embedding, model,
/// created_at.
knowledge_card read_card(const sqlite_query& row);

/// An embedding as stored: little-endian 32-bit floats.
std::string embedding_bytes(const std::vector<float>& values);
std::vector<float> embedding_from(std::string_view bytes);

/// Throws SQLite::Exception.
std::optional<job> job_by_seq(sqlite_connection& db, int64_t seq);

/// `id` in lower case. Throws SQLite::Exception.
std::optional<job> job_by_id(sqlite_connection& db, const std::string& id);

} // namespace reeve
