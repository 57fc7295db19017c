// persistence/postgres_rows.cpp -- rows to nouns.
#include "persistence/postgres_rows.hpp"

#include <algorithm>

namespace reeve {

namespace {

std::optional<timestamp> maybe_time(const pqxx::field& field) {
  if (field.is_null())
    return std::nullopt;
  return read_time(field);
}

// Counters that somebody set to nonsense by hand must not stop the job.
uint32_t read_count(const pqxx::field& field) {
  return static_cast<uint32_t>(std::max(field.as<int32_t>(), 0));
}

verdict verdict_from(std::string_view text) {
  for (auto x : {verdict::complete, verdict::retry, verdict::retry_unspent,
                 verdict::cancel})
    if (to_string(x) == text)
      return x;
  return verdict::fail;
}

// The elements of a one-dimensional array without NULLs.
template <class T>
std::vector<T> read_array(const pqxx::field& field) {
  const auto elements = field.as_sql_array<T>();
  return {elements.cbegin(), elements.cend()};
}

} // namespace

timestamp read_time(const pqxx::field& field) {
  return timestamp{std::chrono::microseconds{field.as<int64_t>()}};
}

int64_t micros(timestamp x) {
  return x.time_since_epoch().count();
}

nlohmann::json read_json(const pqxx::field& field) {
  if (field.is_null())
    return nullptr;
  auto result = nlohmann::json::parse(field.view(), nullptr, false);
  return result.is_discarded() ? nlohmann::json(nullptr) : result;
}

std::vector<std::string> read_texts(const pqxx::field& field) {
  return read_array<std::string>(field);
}

std::optional<std::string> read_text(const pqxx::field& field) {
  return field.as<std::optional<std::string>>();
}

job read_job(const pqxx::row& row) {
  job result;
  int i = 0;
  result.seq = row[i++].as<int64_t>();
  result.id = row[i++].as<std::string>();
  result.type = row[i++].as<std::string>();
  result.status = job_status_from(row[i++].view()).value_or(job_status::failed);
  result.target_id = row[i++].as<std::string>();
  result.user_id = read_text(row[i++]);
  result.payload = read_json(row[i++]);
  result.result = read_json(row[i++]);
  result.progress_percent = row[i++].as<int>();
  result.progress_message = row[i++].as<std::string>();
  result.error_message = read_text(row[i++]);
  result.attempts = read_count(row[i++]);
  result.max_attempts = read_count(row[i++]);
  result.priority = row[i++].as<int32_t>();
  result.unique_key = read_text(row[i++]);
  result.run_at = read_time(row[i++]);
  result.reason = row[i++].as<std::string>();
  result.cancel_requested = row[i++].as<bool>();
  result.unspent.throttled = read_count(row[i++]);
  result.unspent.provider_down = read_count(row[i++]);
  result.unspent.interrupted = read_count(row[i++]);
  result.version = row[i++].as<int64_t>();
  result.run = row[i++].as<int64_t>();
  result.created_at = read_time(row[i++]);
  result.started_at = maybe_time(row[i++]);
  result.finished_at = maybe_time(row[i++]);
  result.updated_at = read_time(row[i++]);
  result.used.input_tokens = row[i++].as<uint64_t>();
  result.used.output_tokens = row[i++].as<uint64_t>();
  result.used.images = row[i++].as<uint64_t>();
  return result;
}

attempt read_attempt(const pqxx::row& row) {
  attempt result;
  result.run = row[0].as<int64_t>();
  result.node = row[1].as<std::string>();
  result.started_at = read_time(row[2]);
  result.finished_at = read_time(row[3]);
  result.outcome =
    run_outcome_from(row[4].view()).value_or(run_outcome::failed);
  result.error = row[5].as<std::string>();
  result.decision = verdict_from(row[6].view());
  result.why = row[7].as<std::string>();
  result.next_run_at = maybe_time(row[8]);
  return result;
}

scrap read_scrap(const pqxx::row& row) {
  scrap result;
  result.id = row[0].as<std::string>();
  result.content = row[1].as<std::string>();
  result.title = read_text(row[2]);
  result.url = read_text(row[3]);
  result.user_id = read_text(row[4]);
  result.created_at = read_time(row[5]);
  return result;
}

knowledge_card read_card(const pqxx::row& row) {
  knowledge_card result;
  result.id = row[0].as<std::string>();
  result.scrap_id = row[1].as<std::string>();
  result.job_id = row[2].as<std::string>();
  result.user_id = read_text(row[3]);
  result.summary = row[4].as<std::string>();
  result.tags = read_array<std::string>(row[5]);
  result.embedding = read_array<float>(row[6]);
  result.model = row[7].as<std::string>();
  result.created_at = read_time(row[8]);
  return result;
}

} // namespace reeve
