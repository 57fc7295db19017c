// persistence/postgres_claim.cpp -- how runs start and stay alive.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/text.hpp"

#include <algorithm>
#include <tuple>

namespace reeve {

namespace {

// One look-up for each wanted type and priority, in ascending order and only
// as far as needed: due jobs stand together within it, so that jobs which are
// due later, or of other types, cost a claim nothing, however many there are.
#define REEVE_PRIORITIES_OF_WANTED \
  " level(priority) AS (" \
  "   SELECT min(q.priority) FROM reeve.queue q" \
  "   WHERE q.job_type = wanted.job_type" \
  "   UNION ALL" \
  "   SELECT (SELECT min(q.priority) FROM reeve.queue q" \
  "           WHERE q.job_type = wanted.job_type" \
  "             AND q.priority > level.priority)" \
  "   FROM level WHERE level.priority IS NOT NULL) "

constexpr postgres_statement claimed_with_sql{"claimed_with", R"(
  SELECT seq FROM reeve.running WHERE lease_owner = $1 AND claim_token = $2
  ORDER BY priority, run_at, seq)"};

constexpr postgres_statement next_due_sql{"next_due", R"(
  WITH wanted AS MATERIALIZED (
    SELECT DISTINCT t.job_type FROM unnest($1::text[]) AS t(job_type)
    WHERE NOT EXISTS (SELECT FROM reeve.types p
                      WHERE p.job_type = t.job_type AND p.paused))
  SELECT coalesce(bool_or(x.due), false),
    reeve.micros(min(x.next)) - reeve.micros(now())
  FROM wanted CROSS JOIN LATERAL (
    WITH RECURSIVE)" REEVE_PRIORITIES_OF_WANTED R"(
    SELECT
      EXISTS (SELECT FROM reeve.queue q
              WHERE q.job_type = wanted.job_type
                AND q.priority = level.priority AND q.run_at <= now()) AS due,
      (SELECT min(q.run_at) FROM reeve.queue q
       WHERE q.job_type = wanted.job_type AND q.priority = level.priority
         AND q.run_at > now()) AS next
    FROM level WHERE level.priority IS NOT NULL) x)"};

// A row that somebody has locked must not cost the others their leases. It is
// listed, and not renewed: while the lock lasts nobody can rescue it either.
constexpr postgres_statement heartbeat_sql{"heartbeat", R"(
  WITH held AS MATERIALIZED (
    SELECT seq FROM reeve.running WHERE lease_owner = $1
    ORDER BY seq FOR UPDATE SKIP LOCKED),
  renewed AS (
    UPDATE reeve.running r
    SET lease_until = now() + $2::bigint * interval '1 millisecond'
    FROM held WHERE r.seq = held.seq)
  SELECT seq, run, cancel_requested FROM reeve.running
  WHERE lease_owner = $1)"};

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

// How often another node may be faster with what we are about to take.
constexpr int max_rounds = 20;

std::vector<int64_t> seqs_of(const pqxx::result& rows) {
  std::vector<int64_t> result;
  for (const auto& row : rows)
    result.push_back(row[0].as<int64_t>());
  return result;
}

} // namespace

// What to take is settled before anything is locked, so that no row is locked
// in vain; rows that another node has locked meanwhile are reported, and the
// caller asks again without them. The locked rows are a materialized set: else
// the planner may run the LIMIT again and take more than was asked.
const postgres_statement claim_statement{"claim", R"(
  WITH wanted AS MATERIALIZED (
    SELECT t.job_type, max(t.most) AS most
    FROM unnest($5::text[], $6::bigint[]) AS t(job_type, most)
    WHERE NOT EXISTS (SELECT FROM reeve.types p
                      WHERE p.job_type = t.job_type AND p.paused)
    GROUP BY t.job_type),
  candidate AS MATERIALIZED (
    SELECT c.seq, wanted.job_type
    FROM wanted CROSS JOIN LATERAL (
      WITH RECURSIVE)" REEVE_PRIORITIES_OF_WANTED R"(
      SELECT d.seq, d.priority, d.run_at
      FROM level CROSS JOIN LATERAL (
        SELECT q.seq, q.priority, q.run_at FROM reeve.queue q
        WHERE q.job_type = wanted.job_type AND q.priority = level.priority
          AND q.run_at <= now() AND q.seq <> ALL($7::bigint[])
        ORDER BY q.run_at, q.seq LIMIT least(wanted.most, $1)) d
      LIMIT least(wanted.most, $1)) c
    ORDER BY c.priority, c.run_at, c.seq LIMIT $1),
  due AS MATERIALIZED (
    SELECT q.seq FROM candidate c JOIN reeve.queue q ON q.seq = c.seq
    FOR UPDATE OF q SKIP LOCKED),
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
    RETURNING seq)
  SELECT c.seq, c.job_type, s.seq IS NOT NULL
  FROM candidate c LEFT JOIN started s ON s.seq = c.seq)"};

void postgres_writer::claim(const slot<claim_write>& x) {
  if (auto no = check(x.what)) {
    x.answer = *std::move(no);
    return;
  }
  std::vector<int64_t> seqs;
  if (x.repeated)
    seqs = seqs_of(
      run(claimed_with_sql, pqxx::params{x.what.owner.str(), x.what.token}));
  if (seqs.empty())
    seqs = take(x.what);
  claimed result;
  result.jobs = jobs_by_seq(seqs);
  std::ranges::sort(result.jobs, {}, [](const job& j) {
    return std::tuple{j.priority, j.run_at, j.seq};
  });
  std::vector<std::string> types;
  for (const auto& wanted : x.what.types)
    types.push_back(wanted.type);
  const auto next = run(next_due_sql, pqxx::params{types}).one_row();
  // Due jobs that a claim with room left did not get are being taken by
  // another node right now.
  result.more = next[0].as<bool>() && seqs.size() >= x.what.limit;
  if (!next[1].is_null())
    result.next_due_in = until(timestamp{}, read_time(next[1]));
  x.answer = std::move(result);
}

std::vector<int64_t> postgres_writer::take(const claim_write& x) {
  std::map<std::string, int64_t> room;
  for (const auto& wanted : x.types)
    room[wanted.type] = std::max(room[wanted.type], int64_t{wanted.limit});
  std::vector<int64_t> result, passed_over;
  for (int round = 0; round < max_rounds; ++round) {
    std::vector<std::string> types;
    std::vector<int64_t> limits;
    for (const auto& [type, limit] : room)
      if (limit > 0) {
        types.push_back(type);
        limits.push_back(limit);
      }
    const auto left = int64_t{x.limit} - static_cast<int64_t>(result.size());
    if (types.empty() || left <= 0)
      break;
    const auto before = passed_over.size();
    for (const auto& row :
         run(claim_statement,
             pqxx::params{left, x.owner.str(), bounded(x.lease), x.token, types,
                          limits, passed_over})) {
      const auto seq = row[0].as<int64_t>();
      (row[2].as<bool>() ? result : passed_over).push_back(seq);
      if (row[2].as<bool>())
        --room[row[1].as<std::string>()];
    }
    if (passed_over.size() == before)
      break;
  }
  return result;
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
