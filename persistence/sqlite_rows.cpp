// persistence/sqlite_rows.cpp -- rows to nouns.
#include "persistence/sqlite_rows.hpp"

#include <bit>
#include <cstring>

namespace reeve {

namespace {

constexpr const char* job_by_seq_sql =
  "SELECT" REEVE_SQLITE_JOB_COLUMNS
  "FROM job j LEFT JOIN queue q ON q.seq = j.seq"
  " LEFT JOIN running r ON r.seq = j.seq WHERE j.seq = ?";

constexpr const char* job_by_id_sql =
  "SELECT" REEVE_SQLITE_JOB_COLUMNS
  "FROM job j LEFT JOIN queue q ON q.seq = j.seq"
  " LEFT JOIN running r ON r.seq = j.seq WHERE j.id = ?";

uint32_t little_endian(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if constexpr (std::endian::native == std::endian::big)
    bits = __builtin_bswap32(bits);
  return bits;
}

job_status status_of(const std::optional<std::string>& outcome, bool runs) {
  if (outcome)
    return job_status_from(*outcome).value_or(job_status::failed);
  return runs ? job_status::processing : job_status::pending;
}

verdict verdict_from(std::string_view text) {
  for (auto x : {verdict::retry, verdict::retry_unspent, verdict::cancel})
    if (to_string(x) == text)
      return x;
  return verdict::fail;
}

std::optional<job> first_job(sqlite_query& query) {
  if (!query.next())
    return std::nullopt;
  return read_job(query);
}

} // namespace

job read_job(const sqlite_query& row) {
  job result;
  int i = 0;
  result.seq = row.integer(i++);
  result.id = row.text(i++);
  result.type = row.text(i++);
  const auto outcome = row.maybe_text(i++);
  result.status = status_of(outcome, !row.is_null(i++));
  result.target_id = row.text(i++);
  result.user_id = row.maybe_text(i++);
  result.payload = row.lazy_json(i++);
  result.result = row.lazy_json(i++);
  result.progress_percent = static_cast<int>(row.integer(i++));
  result.progress_message = row.text(i++);
  result.error_message = row.maybe_text(i++);
  result.attempts = row.count(i++);
  result.max_attempts = row.count(i++);
  result.priority = static_cast<int32_t>(row.integer(i++));
  result.unique_key = row.maybe_text(i++);
  result.run_at = row.time(i++);
  result.reason = row.text(i++);
  result.cancel_requested = row.integer(i++) != 0;
  result.unspent.throttled = row.count(i++);
  result.unspent.provider_down = row.count(i++);
  result.unspent.interrupted = row.count(i++);
  result.version = row.integer(i++);
  result.run = row.integer(i++);
  result.created_at = row.time(i++);
  result.started_at = row.maybe_time(i++);
  result.finished_at = row.maybe_time(i++);
  result.updated_at = row.time(i++);
  result.used.input_tokens = static_cast<uint64_t>(row.integer(i++));
  result.used.output_tokens = static_cast<uint64_t>(row.integer(i++));
  result.used.images = static_cast<uint64_t>(row.integer(i++));
  result.trace.parent = row.text(i++);
  result.trace.state = row.text(i++);
  return result;
}

attempt read_attempt(const sqlite_query& row) {
  attempt result;
  result.run = row.integer(0);
  result.node = row.text(1);
  result.started_at = row.time(2);
  result.finished_at = row.time(3);
  result.outcome = run_outcome_from(row.text(4)).value_or(run_outcome::failed);
  result.error = row.text(5);
  result.decision = verdict_from(row.text(6));
  result.why = row.text(7);
  result.next_run_at = row.maybe_time(8);
  return result;
}

scrap read_scrap(const sqlite_query& row) {
  scrap result;
  result.id = row.text(0);
  result.content = row.text(1);
  result.title = row.maybe_text(2);
  result.url = row.maybe_text(3);
  result.user_id = row.maybe_text(4);
  result.created_at = row.time(5);
  return result;
}

knowledge_card read_card(const sqlite_query& row) {
  knowledge_card result;
  result.id = row.text(0);
  result.scrap_id = row.text(1);
  result.job_id = row.text(2);
  result.user_id = row.maybe_text(3);
  result.summary = row.text(4);
  for (const auto& tag : row.json(5))
    if (tag.is_string())
      result.tags.push_back(tag.get<std::string>());
  result.embedding = embedding_from(row.text(6));
  result.model = row.text(7);
  result.created_at = row.time(8);
  return result;
}

std::string embedding_bytes(const std::vector<float>& values) {
  std::string result(values.size() * sizeof(uint32_t), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bits = little_endian(values[i]);
    std::memcpy(result.data() + i * sizeof(bits), &bits, sizeof(bits));
  }
  return result;
}

std::vector<float> embedding_from(std::string_view bytes) {
  std::vector<float> result;
  result.reserve(bytes.size() / sizeof(uint32_t));
  for (size_t i = 0; i + sizeof(uint32_t) <= bytes.size();
       i += sizeof(uint32_t)) {
    float value = 0;
    std::memcpy(&value, bytes.data() + i, sizeof(value));
    result.push_back(std::bit_cast<float>(little_endian(value)));
  }
  return result;
}

std::optional<job> job_by_seq(sqlite_connection& db, int64_t seq) {
  sqlite_query query{db.prepared(job_by_seq_sql)};
  return first_job(query.bind(seq));
}

std::optional<job> job_by_id(sqlite_connection& db, const std::string& id) {
  sqlite_query query{db.prepared(job_by_id_sql)};
  return first_job(query.bind(id));
}

} // namespace reeve
