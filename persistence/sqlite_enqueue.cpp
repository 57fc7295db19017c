// persistence/sqlite_enqueue.cpp -- how jobs come in.
#include "persistence/sqlite_rows.hpp"
#include "persistence/sqlite_writer.hpp"
#include "persistence/store_rules.hpp"

namespace reeve {

namespace {

constexpr const char* by_idempotency_key_sql = R"(
  SELECT seq, idempotency_hash FROM job WHERE idempotency_key = ?)";

constexpr const char* by_unique_key_sql = R"(
  SELECT seq FROM job WHERE unique_key = ? AND outcome IS NULL)";

constexpr const char* insert_scrap_sql = R"(
  INSERT INTO scraps (id, content, title, url, user_id, created_at)
  VALUES (?, ?, ?, ?, ?, ?))";

constexpr const char* insert_job_sql = R"(
  INSERT INTO job (id, job_type, target_id, user_id, payload, priority, run_at,
    max_attempts, unique_key, idempotency_key, idempotency_hash, price,
    created_at, updated_at, traceparent, tracestate, room)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, zeroblob(27)))";

constexpr const char* insert_queue_sql = R"(
  INSERT INTO queue (seq, job_type, priority, run_at, updated_at)
  VALUES (?, ?, ?, ?, ?))";

} // namespace

write_answer sqlite_writer::on(const enqueue_write& x, bool repeated) {
  if (auto no = check(x))
    return *std::move(no);
  return add(x, repeated);
}

write_answer sqlite_writer::add(const enqueue_write& x, bool repeated) {
  if (repeated)
    if (auto known = earlier_try(x))
      return *std::move(known);
  if (auto known = same_key(x))
    return *std::move(known);
  // First: a refusal leaves nothing behind.
  if (x.price > 0)
    if (auto no = charge(lower_case(x.id), x.user_id.value(), x.price))
      return *std::move(no);
  if (x.new_scrap)
    insert_scrap(*x.new_scrap);
  if (x.new_content)
    insert_content(*x.new_content);
  return answer_to(x, insert_job(x), enqueue_kind::created);
}

enqueued sqlite_writer::answer_to(const enqueue_write& x, job known,
                                  enqueue_kind kind) {
  enqueued result;
  if (x.new_scrap && kind != enqueue_kind::deduplicated)
    result.scrap_id = lower_case(known.target_id);
  if (x.price > 0)
    result.balance = balance_of(x.user_id.value());
  result.job = std::move(known);
  result.kind = kind;
  return result;
}

// A savepoint around the batch would make SQLite copy every page that it
// touches: only a batch that has to be undone is done again with one.
write_answer sqlite_writer::on(const enqueue_batch_write& x, bool repeated) {
  auto refused = [](size_t index, refusal why) {
    why.message = "jobs[" + std::to_string(index) + "]: " + why.message;
    return why;
  };
  for (size_t i = 0; i < x.jobs.size(); ++i)
    if (auto no = check(x.jobs[i]))
      return refused(i, *std::move(no));
  std::optional<sqlite_savepoint> all_or_none;
  if (each_alone_)
    all_or_none.emplace(db_);
  enqueued_batch result;
  result.jobs.reserve(x.jobs.size());
  for (size_t i = 0; i < x.jobs.size(); ++i) {
    try {
      auto answer = add(x.jobs[i], repeated);
      if (auto* no = std::get_if<refusal>(&answer)) {
        if (!each_alone_)
          throw needs_savepoints{};
        return refused(i, std::move(*no));
      }
      result.jobs.push_back(std::get<enqueued>(std::move(answer)));
    } catch (const SQLite::Exception& err) {
      if (!each_alone_ || !is_refused_value(err))
        throw;
      return refused(i, {refusal_code::invalid_argument, err.what()});
    }
  }
  if (all_or_none)
    all_or_none->keep();
  return result;
}

std::optional<enqueued> sqlite_writer::earlier_try(const enqueue_write& x) {
  auto known = job_by_id(db_, lower_case(x.id));
  if (!known)
    return std::nullopt;
  return answer_to(x, *std::move(known), enqueue_kind::created);
}

// The idempotency key goes first: a replay gets its own job, even when that
// one has ended and another holds the unique key by now.
std::optional<write_answer> sqlite_writer::same_key(const enqueue_write& x) {
  if (x.idempotency_key) {
    sqlite_query query{db_.prepared(by_idempotency_key_sql)};
    if (query.bind(*x.idempotency_key).next()) {
      if (query.maybe_text(1) != x.idempotency_hash)
        return refusal{refusal_code::key_reused,
                       "the idempotency key was used with another request"};
      return answer_to(x, job_by_seq(db_, query.integer(0)).value(),
                       enqueue_kind::replayed);
    }
  }
  if (x.unique_key) {
    sqlite_query query{db_.prepared(by_unique_key_sql)};
    if (query.bind(*x.unique_key).next())
      return answer_to(x, job_by_seq(db_, query.integer(0)).value(),
                       enqueue_kind::deduplicated);
  }
  return std::nullopt;
}

void sqlite_writer::insert_scrap(const scrap& x) {
  sqlite_query query{db_.prepared(insert_scrap_sql)};
  query.bind(lower_case(x.id), x.content, x.title, x.url, x.user_id, now_);
  query.run();
}

job sqlite_writer::insert_job(const enqueue_write& x) {
  job result;
  result.id = lower_case(x.id);
  result.type = x.type;
  result.target_id = x.target_id;
  result.user_id = x.user_id;
  result.payload = x.payload;
  result.priority = x.priority;
  result.run_at = x.run_at.value_or(now_);
  result.max_attempts = x.max_attempts;
  result.unique_key = x.unique_key;
  result.trace = x.trace;
  result.created_at = now_;
  result.updated_at = now_;
  {
    sqlite_query query{db_.prepared(insert_job_sql)};
    query.bind(result.id, x.type, x.target_id, x.user_id, x.payload.text(),
               x.priority, result.run_at, x.max_attempts, x.unique_key,
               x.idempotency_key, x.idempotency_hash, x.price, now_, now_,
               text_or_null(x.trace.parent), text_or_null(x.trace.state));
    query.run();
  }
  result.seq = db_.last_insert_seq();
  sqlite_query query{db_.prepared(insert_queue_sql)};
  query.bind(result.seq, x.type, x.priority, result.run_at, now_).run();
  return result;
}

} // namespace reeve
