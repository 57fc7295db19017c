// persistence/postgres_claim.cpp -- how runs start and stay alive.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/text.hpp"

#include <algorithm>

namespace reeve {

namespace {

// One look-up a priority, in ascending order and only as far as needed: due
// jobs stand together within it, so that jobs which are due later cost a claim
// nothing, however many there are.
#define REEVE_PRIORITIES \
  " level(priority) AS (" \
  "   SELECT min(priority) FROM reeve.queue" \
  "   UNION ALL" \
  "   SELECT (SELECT min(q.priority) FROM reeve.queue q" \
  "           WHERE q.priority > level.priority)" \
  "   FROM level WHERE level.priority IS NOT NULL) "

constexpr postgres_statement claimed_with_sql{"claimed_with", R"(
  SELECT seq FROM reeve.running WHERE lease_owner = $1 AND claim_token = $2
  ORDER BY priority, run_at, seq)"};

constexpr postgres_statement next_due_sql{"next_due",
                                          "WITH RECURSIVE" REEVE_PRIORITIES R"(
  SELECT coalesce(bool_or(x.due), false),
    reeve.micros(min(x.next)) - reeve.micros(now())
  FROM level CROSS JOIN LATERAL (
    SELECT
      EXISTS (SELECT FROM reeve.queue q
              WHERE q.priority = level.priority AND q.run_at <= now()) AS due,
      (SELECT min(q.run_at) FROM reeve.queue q
       WHERE q.priority = level.priority AND q.run_at > now()) AS next) x)"};

constexpr postgres_statement heartbeat_sql{"heartbeat", R"(
  WITH held AS MATERIALIZED (
    SELECT seq FROM reeve.running WHERE lease_owner = $1
    ORDER BY seq FOR UPDATE)
  UPDATE reeve.running r
  SET lease_until = now() + $2::bigint * interval '1 millisecond'
  FROM held WHERE r.seq = held.seq
  RETURNING r.seq, r.run, r.cancel_requested)"};

constexpr postgres_statement progress_sql{"progress", R"(
  WITH held AS MATERIALIZED (
    SELECT r.seq, t.percent, t.message
    FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::text[])
      AS t(seq, run, percent, message)
    JOIN reeve.running r ON r.seq = t.seq AND r.run = t.run
    ORDER BY r.seq FOR UPDATE OF r)
  UPDATE reeve.running r SET progress_percent = held.percent,
    progress_message = held.message, version = r.version + 1,
    updated_at = now()
  FROM held WHERE r.seq = held.seq
  RETURNING r.seq, r.run)"};

std::vector<int64_t> seqs_of(const pqxx::result& rows) {
  std::vector<int64_t> result;
  for (const auto& row : rows)
    result.push_back(row[0].as<int64_t>());
  return result;
}

} // namespace

// The locked rows are a materialized set: else the planner may run the LIMIT
// again and take more than was asked.
const postgres_statement claim_statement{"claim",
                                         "WITH RECURSIVE" REEVE_PRIORITIES R"(,
  due AS MATERIALIZED (
    SELECT d.seq FROM level CROSS JOIN LATERAL (
      SELECT q.seq FROM reeve.queue q
      WHERE q.priority = level.priority AND q.run_at <= now()
      ORDER BY q.run_at, q.seq LIMIT $1 FOR UPDATE SKIP LOCKED) d
    LIMIT $1),
  taken AS (
    DELETE FROM reeve.queue q USING due WHERE q.seq = due.seq RETURNING q.*),
  started AS (
    INSERT INTO reeve.running (seq, job_type, priority, run_at, run, attempts,
      throttled, provider_down, interrupted, version, lease_owner, lease_until,
      claim_token)
    SELECT seq, job_type, priority, run_at, run + 1, attempts + 1, throttled,
      provider_down, interrupted, version + 1, $2,
      now() + $3::bigint * interval '1 millisecond', $4
    FROM taken
    RETURNING seq, priority, run_at)
  SELECT seq FROM started ORDER BY priority, run_at, seq)"};

void postgres_writer::claim(const slot<claim_write>& x) {
  if (auto no = check(x.what.owner)) {
    x.answer = *std::move(no);
    return;
  }
  const auto owner = x.what.owner.str();
  std::vector<int64_t> seqs;
  if (x.repeated)
    seqs = seqs_of(run(claimed_with_sql, pqxx::params{owner, x.what.token}));
  if (seqs.empty() && x.what.limit > 0)
    seqs = seqs_of(run(claim_statement,
                       pqxx::params{int64_t{x.what.limit}, owner,
                                    bounded(x.what.lease), x.what.token}));
  claimed result;
  result.jobs = jobs_by_seq(seqs);
  const auto next = run(next_due_sql).one_row();
  // Due jobs that a claim with room left did not get are being taken by
  // another node right now.
  result.more = next[0].as<bool>() && seqs.size() >= x.what.limit;
  if (!next[1].is_null())
    result.next_due_in = until(timestamp{}, read_time(next[1]));
  x.answer = std::move(result);
}

void postgres_writer::heartbeat(const slot<heartbeat_write>& x) {
  if (auto no = check(x.what.owner)) {
    x.answer = *std::move(no);
    return;
  }
  renewed result;
  for (const auto& row :
       run(heartbeat_sql,
           pqxx::params{x.what.owner.str(), bounded(x.what.lease)}))
    result.leases.push_back(
      {row[0].as<int64_t>(), row[1].as<int64_t>(), row[2].as<bool>()});
  std::ranges::sort(result.leases, {}, &held_lease::seq);
  x.answer = std::move(result);
}

void postgres_writer::progress(const std::vector<slot<progress_write>>& slots) {
  if (slots.empty())
    return;
  // Of several reports of one run the last one counts.
  using key = std::pair<int64_t, int64_t>;
  std::map<key, const progress_write*> latest;
  for (const auto& x : slots)
    latest[key{x.what.seq, x.what.run}] = &x.what;
  std::vector<int64_t> seqs, runs;
  std::vector<int> percents;
  std::vector<std::string> messages;
  for (const auto& [k, what] : latest) {
    seqs.push_back(k.first);
    runs.push_back(k.second);
    percents.push_back(std::clamp(what->percent, 0, 100));
    messages.push_back(storable_error(what->message));
  }
  std::map<key, job> noted;
  std::vector<key> keys;
  std::vector<int64_t> changed_seqs;
  for (const auto& row :
       run(progress_sql, pqxx::params{seqs, runs, percents, messages})) {
    keys.emplace_back(row[0].as<int64_t>(), row[1].as<int64_t>());
    changed_seqs.push_back(keys.back().first);
  }
  auto jobs = jobs_by_seq(changed_seqs);
  for (size_t i = 0; i < keys.size(); ++i)
    noted.emplace(keys[i], std::move(jobs[i]));
  for (const auto& x : slots) {
    auto it = noted.find(key{x.what.seq, x.what.run});
    if (it == noted.end())
      x.answer = lease_is_lost(x.what.seq, x.what.run);
    else
      x.answer = changed{it->second};
  }
}

} // namespace reeve
