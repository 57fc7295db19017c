// persistence/postgres_ends.cpp -- rescue, and what every end of a run does.
#include "persistence/fingerprint.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"

namespace reeve {

namespace {

// `= ANY(ARRAY[x])` says the same as `= x` and leaves the planner no choice but
// to look each row up: a plan that was made while a table was empty may read
// all of it by its index, once for each x.

// The caller holds the lock of each run. A completed job has no error left;
// the others keep their last one. Answers with those whose price goes back.
constexpr postgres_statement finish_sql{"finish", R"(
  WITH ended AS (
    DELETE FROM reeve.running r
    USING unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[])
      AS t(seq, outcome, result, error, fingerprint)
    WHERE r.seq = ANY(ARRAY[t.seq])
    RETURNING r.*, t.outcome, t.result, t.error, t.fingerprint),
  counted AS (
    INSERT INTO reeve.finished_counts (job_type, outcome, jobs)
    SELECT job_type, outcome, count(*) FROM ended GROUP BY job_type, outcome),
  noted AS (
  UPDATE reeve.job j SET outcome = e.outcome, result = e.result::jsonb,
    error_message = CASE WHEN e.outcome = 'COMPLETED' THEN NULL
      ELSE coalesce(e.error, j.error_message) END,
    attempts = e.attempts, run = e.run, throttled = e.throttled,
    provider_down = e.provider_down, interrupted = e.interrupted,
    version = e.version + 1, run_at = e.run_at, started_at = e.started_at,
    finished_at = greatest(now(), e.started_at),
    updated_at = greatest(now(), e.started_at), fingerprint = e.fingerprint
  FROM ended e WHERE j.seq = ANY(ARRAY[e.seq])
  RETURNING j.seq, j.outcome, j.price)
  SELECT seq FROM noted WHERE price > 0 AND outcome <> 'COMPLETED')"};

constexpr postgres_statement last_errors_sql{"last_errors", R"(
  SELECT seq, coalesce(error_message, '') FROM reeve.job
  WHERE seq = ANY($1::bigint[]))"};

constexpr postgres_statement put_back_sql{"put_back", R"(
  WITH ended AS (
    DELETE FROM reeve.running r
    USING unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::int[],
      $6::int[], $7::int[], $8::int[])
      AS t(seq, error, reason, delay, given_back, slowed, down, stopped)
    WHERE r.seq = ANY(ARRAY[t.seq])
    RETURNING r.*, t.error, t.reason, t.delay, t.given_back, t.slowed, t.down,
      t.stopped),
  noted AS (
    UPDATE reeve.job j SET error_message = coalesce(e.error, j.error_message),
      run = e.run, started_at = e.started_at
    FROM ended e WHERE j.seq = ANY(ARRAY[e.seq]))
  INSERT INTO reeve.queue (seq, job_type, priority, run_at, reason, run,
    attempts, throttled, provider_down, interrupted, version, updated_at)
  SELECT seq, job_type, priority,
    least(now() + delay * interval '1 millisecond',
      '9999-12-31 23:59:59.999999+00'::timestamptz),
    reason, run, greatest(attempts - given_back, 0), throttled + slowed,
    provider_down + down, interrupted + stopped, version + 1,
    greatest(now(), started_at)
  FROM ended)"};

constexpr postgres_statement note_attempts_sql{"note_attempts", R"(
  INSERT INTO reeve.job_attempts (seq, run, node, started_at, finished_at,
    outcome, error, decision, why, next_run_at)
  SELECT t.seq, t.run, t.node, j.started_at, greatest(now(), j.started_at),
    t.outcome, t.error, t.decision, t.why, q.run_at
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[],
    $6::text[], $7::text[]) AS t(seq, run, node, outcome, error, decision, why)
  JOIN reeve.job j ON j.seq = ANY(ARRAY[t.seq])
  LEFT JOIN reeve.queue q ON q.seq = ANY(ARRAY[t.seq]))"};

std::string_view final_state(verdict decision) {
  if (decision == verdict::complete)
    return to_string(job_status::completed);
  if (decision == verdict::cancel)
    return to_string(job_status::cancelled);
  return to_string(job_status::failed);
}

using texts = std::vector<std::string>;
using maybe_texts = std::vector<std::optional<std::string>>;

} // namespace

// An owner is `node#incarnation`. Leases of the caller itself stay: it knows
// what it runs. Rows that somebody settles right now are left alone.
const postgres_statement stale_runs_statement{"stale_runs", R"(
  SELECT r.seq, r.run, split_part(r.lease_owner, '#', 1), r.attempts,
    j.max_attempts, r.cancel_requested,
    (SELECT count(*) FROM reeve.job_attempts a
     WHERE a.seq = r.seq AND a.outcome = 'lost')
  FROM reeve.running r JOIN reeve.job j ON j.seq = ANY(ARRAY[r.seq])
  WHERE r.lease_owner <> $1
    AND (r.lease_until <= now()
      OR (split_part(r.lease_owner, '#', 1) = $2
        AND split_part(r.lease_owner, '#', 2)::bigint < $3))
  ORDER BY r.seq LIMIT $4 FOR UPDATE OF r SKIP LOCKED)"};

// -- rescue -------------------------------------------------------------------

void postgres_writer::rescue(const slot<rescue_write>& x) {
  const auto& owner = x.what.owner;
  if (auto no = check(owner)) {
    x.answer = *std::move(no);
    return;
  }
  const auto rows = run(stale_runs_statement,
                        pqxx::params{owner.str(), owner.node, owner.incarnation,
                                     int64_t{x.what.limit} + 1});
  std::vector<run_end> ends;
  std::vector<int64_t> seqs;
  for (const auto& row : rows) {
    if (ends.size() == x.what.limit)
      break;
    const auto attempts = row[3].as<uint32_t>();
    const auto max_attempts = row[4].as<uint32_t>();
    run_end end;
    end.seq = row[0].as<int64_t>();
    end.run = row[1].as<int64_t>();
    end.node = row[2].as<std::string>();
    end.outcome = run_outcome::lost;
    end.error = lost_message(end.node);
    end.why = lost_why(attempts, max_attempts);
    end.reason = rescued_reason;
    if (row[5].as<bool>()) {
      end.decision = verdict::cancel;
      end.why = "cancel requested";
    } else if (attempts < max_attempts) {
      end.decision = verdict::retry;
    } else {
      end.decision = verdict::fail;
      end.error = poison_message(row[6].as<int64_t>() + 1);
    }
    seqs.push_back(end.seq);
    ends.push_back(std::move(end));
  }
  end_runs(ends);
  rescued result;
  result.jobs = jobs_by_seq(seqs);
  result.more = static_cast<size_t>(rows.size()) > ends.size();
  x.answer = std::move(result);
}

// -- ends of runs -------------------------------------------------------------

void postgres_writer::end_runs(const std::vector<run_end>& ends) {
  std::vector<run_end> final_ends, put_backs, unsuccessful;
  for (const auto& end : ends) {
    (puts_back(end.decision) ? put_backs : final_ends).push_back(end);
    if (end.decision != verdict::complete)
      unsuccessful.push_back(end);
  }
  finish(final_ends);
  put_back(put_backs);
  note_attempts(unsuccessful);
}

void postgres_writer::finish(const std::vector<run_end>& ends) {
  if (ends.empty())
    return;
  std::vector<int64_t> seqs;
  texts outcomes;
  maybe_texts results, errors, fingerprints;
  const auto earlier = last_errors(ends);
  for (const auto& end : ends) {
    seqs.push_back(end.seq);
    outcomes.emplace_back(final_state(end.decision));
    results.push_back(end.result);
    errors.push_back(text_or_null(end.error));
    fingerprints.push_back(std::nullopt);
    if (end.decision == verdict::fail)
      fingerprints.back() =
        fingerprint_of(end.error.empty() ? earlier.at(end.seq) : end.error);
  }
  for (const auto& row :
       run(finish_sql,
           pqxx::params{seqs, outcomes, results, errors, fingerprints}))
    to_refund_.push_back(row[0].as<int64_t>());
}

// What jobs say that fail without an error of their own.
std::map<int64_t, std::string> postgres_writer::last_errors(
  const std::vector<run_end>& ends) {
  std::vector<int64_t> seqs;
  for (const auto& end : ends)
    if (end.decision == verdict::fail && end.error.empty())
      seqs.push_back(end.seq);
  std::map<int64_t, std::string> result;
  if (!seqs.empty())
    for (const auto& row : run(last_errors_sql, pqxx::params{seqs}))
      result.emplace(row[0].as<int64_t>(), row[1].as<std::string>());
  return result;
}

void postgres_writer::put_back(const std::vector<run_end>& ends) {
  if (ends.empty())
    return;
  std::vector<int64_t> seqs, delays;
  maybe_texts errors;
  texts reasons;
  std::vector<uint32_t> given_back, throttled, provider_down, interrupted;
  for (const auto& end : ends) {
    unspent_counts counts;
    const auto unspent = end.decision == verdict::retry_unspent;
    if (unspent)
      count_unspent(counts, end.outcome);
    seqs.push_back(end.seq);
    delays.push_back(bounded(end.delay));
    errors.push_back(text_or_null(end.error));
    reasons.emplace_back(end.reason);
    given_back.push_back(unspent ? 1 : 0);
    throttled.push_back(counts.throttled);
    provider_down.push_back(counts.provider_down);
    interrupted.push_back(counts.interrupted);
  }
  run(put_back_sql,
      pqxx::params{seqs, errors, reasons, delays, given_back, throttled,
                   provider_down, interrupted});
}

void postgres_writer::note_attempts(const std::vector<run_end>& ends) {
  if (ends.empty())
    return;
  std::vector<int64_t> seqs, runs;
  texts nodes, outcomes, errors, decisions, whys;
  for (const auto& end : ends) {
    seqs.push_back(end.seq);
    runs.push_back(end.run);
    nodes.push_back(end.node);
    outcomes.emplace_back(to_string(end.outcome));
    errors.push_back(end.error);
    decisions.emplace_back(to_string(end.decision));
    whys.push_back(end.why);
  }
  run(note_attempts_sql,
      pqxx::params{seqs, runs, nodes, outcomes, errors, decisions, whys});
}

} // namespace reeve
