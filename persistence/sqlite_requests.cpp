// persistence/sqlite_requests.cpp -- what people ask of jobs and scraps.
#include "persistence/sqlite_rows.hpp"
#include "persistence/sqlite_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/uuid.hpp"

namespace reeve {

namespace {

constexpr const char* cancel_waiting_sql = R"(
  UPDATE job SET outcome = 'CANCELLED', finished_at = ?1, updated_at = ?1,
    room = NULL,
    (run_at, run, attempts, throttled, provider_down, interrupted, version) =
      (SELECT run_at, run, attempts, throttled, provider_down, interrupted,
        version + 1 FROM queue WHERE queue.seq = job.seq)
  WHERE seq = ?2)";
constexpr const char* dequeue_sql = "DELETE FROM queue WHERE seq = ?";

constexpr const char* request_cancel_sql = R"(
  UPDATE running SET cancel_requested = 1, version = version + 1,
    updated_at = ?
  WHERE seq = ? AND cancel_requested = 0)";

constexpr const char* key_is_taken_sql = R"(
  SELECT 1 FROM job WHERE unique_key = ? AND outcome IS NULL)";

constexpr const char* reopen_sql = R"(
  UPDATE job SET outcome = NULL, result = NULL, finished_at = NULL,
    attempts = 0, throttled = 0, provider_down = 0, interrupted = 0,
    progress_percent = 0, progress_message = '', fingerprint = NULL,
    version = version + 1,
    run_at = ?1, updated_at = ?1
  WHERE seq = ?2)";
constexpr const char* requeue_sql = R"(
  INSERT INTO queue (seq, job_type, priority, run_at, reason, run, version,
    updated_at)
  SELECT seq, job_type, priority, run_at, ?, run, version, updated_at
  FROM job WHERE seq = ?)";

constexpr const char* delete_scrap_sql = "DELETE FROM scraps WHERE id = ?";

std::optional<job> find(sqlite_connection& db, const std::string& id) {
  if (!is_uuid(id))
    return std::nullopt;
  return job_by_id(db, lower_case(id));
}

} // namespace

write_answer sqlite_writer::on(const cancel_write& x, bool repeated) {
  const auto known = find(db_, x.id);
  if (!known)
    return no_such("job", x.id);
  switch (known->status) {
    case job_status::pending: {
      {
        sqlite_query query{db_.prepared(cancel_waiting_sql)};
        query.bind(std::max(now_, known->created_at), known->seq).run();
      }
      {
        sqlite_query query{db_.prepared(dequeue_sql)};
        query.bind(known->seq).run();
      }
      count_finished(known->type, to_string(job_status::cancelled));
      refund(known->seq);
      break;
    }
    case job_status::processing: {
      sqlite_query query{db_.prepared(request_cancel_sql)};
      query.bind(now_, known->seq).run();
      break;
    }
    case job_status::cancelled:
      if (repeated)
        break;
      [[fallthrough]];
    case job_status::completed:
    case job_status::failed:
      return wrong_state(known->status, "cancelled");
  }
  return changed_job(known->seq);
}

write_answer sqlite_writer::on(const retry_write& x, bool repeated) {
  const auto known = find(db_, x.id);
  if (!known)
    return no_such("job", x.id);
  if (!is_final(known->status) && repeated)
    return changed_job(known->seq);
  if (known->status != job_status::failed
      && known->status != job_status::cancelled)
    return wrong_state(known->status, "retried");
  if (key_is_taken(known->unique_key))
    return key_is_held();
  if (auto no = charge_again(known->seq))
    return *std::move(no);
  reopen(known->seq, known->type, known->status);
  return changed_job(known->seq);
}

bool sqlite_writer::key_is_taken(const std::optional<std::string>& unique_key) {
  if (!unique_key)
    return false;
  sqlite_query query{db_.prepared(key_is_taken_sql)};
  return query.bind(*unique_key).next();
}

// FAILED or CANCELLED → PENDING.
void sqlite_writer::reopen(int64_t seq, const std::string& type,
                           job_status status) {
  {
    sqlite_query query{db_.prepared(reopen_sql)};
    query.bind(now_, seq).run();
  }
  count_finished(type, to_string(status), -1);
  sqlite_query query{db_.prepared(requeue_sql)};
  query.bind(retried_reason, seq).run();
}

write_answer sqlite_writer::on(const delete_scrap_write& x, bool repeated) {
  if (!is_uuid(x.id))
    return no_such("scrap", x.id);
  sqlite_query query{db_.prepared(delete_scrap_sql)};
  if (query.bind(lower_case(x.id)).run() == 0 && !repeated)
    return no_such("scrap", x.id);
  return done{};
}

write_answer sqlite_writer::changed_job(int64_t seq) {
  return changed{job_by_seq(db_, seq).value()};
}

write_answer sqlite_writer::apply(const write_entry& entry) {
  return std::visit([&](const auto& x) { return on(x, entry.repeated); },
                    entry.what);
}

} // namespace reeve
