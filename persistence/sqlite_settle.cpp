// persistence/sqlite_settle.cpp -- how runs end: settled, or rescued.
#include "persistence/fingerprint.hpp"
#include "persistence/sqlite_rows.hpp"
#include "persistence/sqlite_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/text.hpp"

#include <algorithm>

namespace reeve {

namespace {

#define REEVE_RUN_COLUMNS \
  " seq, run, job_type, priority, run_at, attempts, throttled," \
  " provider_down, interrupted," \
  " substr(lease_owner, 1, instr(lease_owner, '#') - 1), started_at," \
  " cancel_requested, version "

constexpr const char* find_run_sql =
  "SELECT" REEVE_RUN_COLUMNS "FROM running WHERE seq = ? AND run = ?";

// An owner is `node#incarnation`. Leases of the caller itself stay: it knows
// what it runs.
constexpr const char* stale_runs_sql = "SELECT" REEVE_RUN_COLUMNS R"(
  FROM running
  WHERE lease_owner <> ?1
    AND (lease_until <= ?2
      OR (substr(lease_owner, 1, instr(lease_owner, '#') - 1) = ?3
        AND CAST(substr(lease_owner, instr(lease_owner, '#') + 1) AS INTEGER)
          < ?4))
  ORDER BY seq LIMIT ?5)";

constexpr const char* was_settled_sql = R"(
  SELECT 1 FROM job_attempts WHERE seq = ?1 AND run = ?2
  UNION ALL
  SELECT 1 FROM job WHERE seq = ?1 AND run = ?2 AND outcome = 'COMPLETED')";

// A completed job has no error left; the others keep their last one. No job
// has a progress message once it has ended.
constexpr const char* finish_sql = R"(
  UPDATE job SET outcome = ?1, result = ?2,
    error_message = CASE WHEN ?1 = 'COMPLETED' THEN NULL
      ELSE coalesce(?3, error_message) END,
    attempts = ?4, run = ?5, throttled = ?6, provider_down = ?7,
    interrupted = ?8, version = ?9, run_at = ?10, started_at = ?11,
    finished_at = ?12, updated_at = ?12, progress_percent = ?13,
    progress_message = '', fingerprint = ?14, room = NULL
  WHERE seq = ?15)";

// The version grows with everything that happens to a run but heartbeats: with
// the one that was claimed, the rest of the record is as it was claimed.
constexpr const char* end_as_claimed_sql = R"(
  DELETE FROM running WHERE seq = ? AND run = ? AND version = ?)";
constexpr const char* complete_sql = R"(
  UPDATE job SET outcome = 'COMPLETED', result = ?, error_message = NULL,
    attempts = ?, run = ?, throttled = ?, provider_down = ?, interrupted = ?,
    version = ?, run_at = ?, started_at = ?, finished_at = ?, updated_at = ?,
    progress_percent = 100, room = NULL
  WHERE seq = ?)";

constexpr const char* count_finished_sql = R"(
  INSERT INTO finished_counts VALUES (?, ?, ?)
  ON CONFLICT (job_type, outcome) DO UPDATE SET jobs = jobs + excluded.jobs)";

constexpr const char* last_error_sql =
  "SELECT error_message FROM job WHERE seq = ?";

constexpr const char* note_waiting_sql = R"(
  UPDATE job SET error_message = coalesce(?, error_message), run = ?,
    started_at = ?
  WHERE seq = ?)";

constexpr const char* requeue_sql = R"(
  INSERT INTO queue (seq, job_type, priority, run_at, reason, run, attempts,
    throttled, provider_down, interrupted, version, updated_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))";

constexpr const char* end_run_sql = "DELETE FROM running WHERE seq = ?";

constexpr const char* insert_attempt_sql = R"(
  INSERT INTO job_attempts (seq, run, node, started_at, finished_at, outcome,
    error, decision, why, next_run_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?))";

constexpr const char* deaths_sql = R"(
  SELECT count(*) FROM job_attempts WHERE seq = ? AND outcome = 'lost')";

constexpr const char* max_attempts_sql = R"(
  SELECT max_attempts FROM job WHERE seq = ?)";

std::string_view final_state(verdict decision) {
  if (decision == verdict::complete)
    return to_string(job_status::completed);
  if (decision == verdict::cancel)
    return to_string(job_status::cancelled);
  return to_string(job_status::failed);
}

// The columns of REEVE_RUN_COLUMNS.
template <class Row>
Row read_run(const sqlite_query& query) {
  Row result;
  int i = 0;
  result.seq = query.integer(i++);
  result.run = query.integer(i++);
  result.job_type = query.text(i++);
  result.priority = query.integer(i++);
  result.run_at = query.time(i++);
  result.attempts = query.count(i++);
  result.unspent.throttled = query.count(i++);
  result.unspent.provider_down = query.count(i++);
  result.unspent.interrupted = query.count(i++);
  result.node = query.text(i++);
  result.started_at = query.time(i++);
  result.cancel_requested = query.integer(i++) != 0;
  result.version = query.integer(i++);
  return result;
}

} // namespace

write_answer sqlite_writer::on(const settle_write& x, bool repeated) {
  const auto seq = x.claimed->seq;
  if (auto no = check(x))
    return *std::move(no);
  if (auto ended = complete_as_claimed(x))
    return *std::move(ended);
  const auto row = find_run(seq, x.claimed->run);
  if (!row) {
    if (repeated && was_settled(seq, x.claimed->run))
      return changed_job(seq);
    return lease_is_lost(seq, x.claimed->run);
  }
  run_end end;
  end.outcome = x.outcome;
  end.decision = effective_decision(x.decision, row->cancel_requested);
  end.why = end.decision == x.decision ? sanitized(x.why) : "cancel requested";
  end.reason = waiting_reason(x.outcome);
  if (puts_back(end.decision))
    end.due = later(now_, x.delay);
  if (end.decision != verdict::complete) {
    end.error = storable_error(x.error);
  } else if (!store_effects(x.effects, x.claimed->id)) {
    end.outcome = run_outcome::failed_permanently;
    end.decision = verdict::fail;
    end.error = target_gone_message;
    end.why = "the target is gone";
  } else {
    end.result = x.result;
  }
  end_run(*row, std::move(end));
  return changed_job(seq);
}

std::optional<completed> sqlite_writer::complete_as_claimed(
  const settle_write& x) {
  const auto& was = *x.claimed;
  if (!is_plain(x) || !was.started_at)
    return std::nullopt;
  {
    sqlite_query query{db_.prepared(end_as_claimed_sql)};
    if (query.bind(was.seq, was.run, was.version).run() == 0)
      return std::nullopt;
  }
  completed result;
  result.claimed = x.claimed;
  result.result = x.result;
  result.version = was.version + 1;
  // The clock may have been set back meanwhile.
  result.finished_at = std::max(now_, *was.started_at);
  result.used = was.used;
  {
    sqlite_query query{db_.prepared(complete_sql)};
    if (x.result.is_null())
      query.bind(nullptr);
    else
      query.bind(x.result.text());
    query.bind(was.attempts, was.run, was.unspent.throttled,
               was.unspent.provider_down, was.unspent.interrupted,
               result.version, was.run_at, *was.started_at, result.finished_at,
               result.finished_at, was.seq);
    query.run();
  }
  count_finished(was.type, to_string(job_status::completed));
  return result;
}

std::optional<sqlite_writer::run_row> sqlite_writer::find_run(int64_t seq,
                                                              int64_t run) {
  sqlite_query query{db_.prepared(find_run_sql)};
  if (!query.bind(seq, run).next())
    return std::nullopt;
  return read_run<run_row>(query);
}

bool sqlite_writer::was_settled(int64_t seq, int64_t run) {
  sqlite_query query{db_.prepared(was_settled_sql)};
  return query.bind(seq, run).next();
}

void sqlite_writer::end_run(const run_row& row, run_end end) {
  // The clock may have been set back meanwhile.
  const auto at = std::max(now_, row.started_at);
  if (end.decision != verdict::complete)
    note_attempt(row, end, at);
  if (puts_back(end.decision))
    put_back(row, end, at);
  else
    finish(row, end, at);
  sqlite_query query{db_.prepared(end_run_sql)};
  query.bind(row.seq).run();
}

void sqlite_writer::finish(const run_row& row, const run_end& end,
                           timestamp at) {
  std::optional<std::string> result;
  if (!end.result.is_null())
    result = end.result.text();
  // What runs is PROCESSING: its fingerprint is NULL, its error may be there.
  std::optional<std::string> fingerprint;
  if (end.decision == verdict::fail)
    fingerprint =
      fingerprint_of(end.error.empty() ? last_error_of(row.seq) : end.error);
  if (end.decision != verdict::complete)
    refund(row.seq);
  sqlite_query query{db_.prepared(finish_sql)};
  query.bind(final_state(end.decision), result, text_or_null(end.error),
             row.attempts, row.run, row.unspent.throttled,
             row.unspent.provider_down, row.unspent.interrupted,
             row.version + 1, row.run_at, row.started_at, at,
             end.decision == verdict::complete ? 100 : 0, fingerprint, row.seq);
  query.run();
  count_finished(row.job_type, final_state(end.decision));
}

void sqlite_writer::count_finished(const std::string& type,
                                   std::string_view outcome, int64_t jobs) {
  finished_[{type, std::string{outcome}}] += jobs;
}

void sqlite_writer::store_counts() {
  for (const auto& [key, jobs] : finished_) {
    sqlite_query query{db_.prepared(count_finished_sql)};
    query.bind(key.first, key.second, jobs).run();
  }
  finished_.clear();
}

std::string sqlite_writer::last_error_of(int64_t seq) {
  sqlite_query query{db_.prepared(last_error_sql)};
  query.bind(seq).next();
  return query.maybe_text(0).value_or("");
}

void sqlite_writer::put_back(const run_row& row, const run_end& end,
                             timestamp at) {
  {
    sqlite_query query{db_.prepared(note_waiting_sql)};
    query.bind(text_or_null(end.error), row.run, row.started_at, row.seq).run();
  }
  auto attempts = row.attempts;
  auto unspent = row.unspent;
  if (end.decision == verdict::retry_unspent) {
    attempts -= std::min(attempts, 1u);
    count_unspent(unspent, end.outcome);
  }
  sqlite_query query{db_.prepared(requeue_sql)};
  query.bind(row.seq, row.job_type, row.priority, end.due, end.reason, row.run,
             attempts, unspent.throttled, unspent.provider_down,
             unspent.interrupted, row.version + 1, at);
  query.run();
}

void sqlite_writer::note_attempt(const run_row& row, const run_end& end,
                                 timestamp at) {
  std::optional<timestamp> next_run_at;
  if (puts_back(end.decision))
    next_run_at = end.due;
  sqlite_query query{db_.prepared(insert_attempt_sql)};
  query.bind(row.seq, row.run, row.node, row.started_at, at,
             to_string(end.outcome), end.error, to_string(end.decision),
             end.why, next_run_at);
  query.run();
}

// -- rescue -------------------------------------------------------------------

write_answer sqlite_writer::on(const rescue_write& x, bool) {
  if (auto no = check(x.owner))
    return *std::move(no);
  std::vector<run_row> rows;
  {
    sqlite_query query{db_.prepared(stale_runs_sql)};
    query.bind(x.owner.str(), now_, x.owner.node, x.owner.incarnation,
               int64_t{x.limit} + 1);
    while (query.next())
      rows.push_back(read_run<run_row>(query));
  }
  rescued result;
  result.more = rows.size() > x.limit;
  if (result.more)
    rows.resize(x.limit);
  for (const auto& row : rows) {
    rescue(row);
    result.jobs.push_back(job_by_seq(db_, row.seq).value());
  }
  return result;
}

void sqlite_writer::rescue(const run_row& row) {
  uint32_t max_attempts = 0;
  {
    sqlite_query query{db_.prepared(max_attempts_sql)};
    query.bind(row.seq).next();
    max_attempts = query.count(0);
  }
  run_end end;
  end.outcome = run_outcome::lost;
  end.error = lost_message(row.node);
  end.why = lost_why(row.attempts, max_attempts);
  end.due = now_;
  end.reason = rescued_reason;
  if (row.cancel_requested) {
    end.decision = verdict::cancel;
    end.why = "cancel requested";
  } else if (row.attempts < max_attempts) {
    end.decision = verdict::retry;
  } else {
    end.decision = verdict::fail;
    end.error = poison_message(deaths_of(row.seq) + 1);
  }
  end_run(row, std::move(end));
}

int64_t sqlite_writer::deaths_of(int64_t seq) {
  sqlite_query query{db_.prepared(deaths_sql)};
  query.bind(seq).next();
  return query.integer(0);
}

} // namespace reeve
