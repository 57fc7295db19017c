// persistence/postgres_rows.hpp -- how rows become jobs, attempts, scraps and
// cards.
#pragma once

#include "persistence/cards.hpp"

#include <new>

#include <pqxx/pqxx>

namespace reeve {

/// The columns of the view `reeve.jobs` that `read_job` expects.
#define REEVE_POSTGRES_JOB_COLUMNS \
  " seq, id, job_type, status, target_id, user_id, payload, result," \
  " progress_percent, progress_message, error_message, attempts," \
  " max_attempts, priority, unique_key, run_at, reason, cancel_requested," \
  " throttled, provider_down, interrupted, version, run, created_at," \
  " started_at, finished_at, updated_at, input_tokens, output_tokens, images," \
  " traceparent, tracestate "

/// How many columns that are: a query's own ones come behind.
inline constexpr int postgres_job_columns = 32;

job read_job(const pqxx::row& row);

/// A job whose run starts `now`, from the columns that a claim answers with.
job read_claimed(const pqxx::row& row, timestamp now);

/// How many those are.
inline constexpr int postgres_claimed_columns = 15;

/// Columns: run, node, started_at, finished_at, outcome, error, decision, why,
/// next_run_at.
attempt read_attempt(const pqxx::row& row);

/// Columns: id, content, title, url, user_id, created_at.
scrap read_scrap(const pqxx::row& row);

/// Columns: id, scrap_id, job_id, user_id, summary, tags, embedding, model,
/// created_at.
knowledge_card read_card(const pqxx::row& row);

/// The columns that `read_card` expects.
#define REEVE_POSTGRES_CARD_COLUMNS \
  " id, scrap_id, job_id, user_id, summary, tags, embedding, model," \
  " created_at "

/// The same without the embedding itself.
#define REEVE_POSTGRES_BARE_CARD_COLUMNS \
  " id, scrap_id, job_id, user_id, summary, tags, '{}'::real[], model," \
  " created_at "

/// An instant as the server writes it (ISO, UTC), which is several times
/// cheaper than converting it there; or microseconds since the epoch. Throws
/// `pqxx::conversion_error` for anything else, e.g. `infinity`.
timestamp read_time(const pqxx::field& field);

/// For parameters.
int64_t micros(timestamp x);

std::optional<std::string> read_text(const pqxx::field& field);

/// What nlohmann cannot read is null: PostgreSQL has numbers such as 1e400.
nlohmann::json read_json(const pqxx::field& field);

/// The same, read when somebody looks into it.
json_text read_json_text(const pqxx::field& field);

/// A one-dimensional array of texts without NULLs.
std::vector<std::string> read_texts(const pqxx::field& field);

/// The same of numbers.
std::vector<int64_t> read_integers(const pqxx::field& field);

/// A row that cannot be read is not there.
template <class T>
std::optional<T> read_if_possible(const pqxx::row& row,
                                  T (*read)(const pqxx::row&)) {
  try {
    return read(row);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    // Nobody asked the server for anything: it is the row.
    return std::nullopt;
  }
}

template <class T>
std::optional<T> first_row(const pqxx::result& rows,
                           T (*read)(const pqxx::row&)) {
  if (rows.empty())
    return std::nullopt;
  return read_if_possible(rows[0], read);
}

template <class T>
std::vector<T> all_rows(const pqxx::result& rows, T (*read)(const pqxx::row&)) {
  std::vector<T> result;
  result.reserve(static_cast<size_t>(rows.size()));
  for (const auto& row : rows)
    if (auto x = read_if_possible(row, read))
      result.push_back(*std::move(x));
  return result;
}

} // namespace reeve
