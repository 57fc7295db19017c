// persistence/postgres_claim.cpp -- how runs start and stay alive.
#include "persistence/postgres_queue.hpp"
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_taken.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/text.hpp"

#include <algorithm>

namespace reeve {

namespace {

constexpr postgres_statement claimed_with_sql{"claimed_with", R"(
  SELECT seq FROM reeve.running WHERE lease_owner = $1 AND claim_token = $2
  ORDER BY priority, run_at, seq)"};

constexpr postgres_statement next_due_sql{"next_due", R"(
  WITH wanted AS MATERIALIZED (
    SELECT DISTINCT t.job_type FROM unnest($1::text[]) AS t(job_type)
    WHERE NOT EXISTS (SELECT FROM reeve.types p
                      WHERE p.job_type = t.job_type AND p.paused))
  SELECT coalesce(bool_or(x.due), false), now(), min(x.next)
  FROM)" REEVE_DUE_OF_WANTED "x"};

// A row that somebody has locked must not cost the others their leases. It is
// listed, and not renewed: while the lock lasts nobody can rescue it either.
constexpr postgres_statement heartbeat_sql{"heartbeat", R"(
  WITH held AS MATERIALIZED (
    SELECT seq FROM reeve.running WHERE lease_owner = $1
    ORDER BY seq FOR UPDATE SKIP LOCKED),
  renewed AS (
    UPDATE reeve.running r
    SET lease_until = now() + $2::bigint * interval '1 millisecond'
    FROM held WHERE r.seq = ANY(ARRAY[held.seq]))
  SELECT seq, run, cancel_requested, claim_token FROM reeve.running
  WHERE lease_owner = $1)"};

constexpr postgres_statement progress_sql{"progress", R"(
  WITH held AS MATERIALIZED (
    SELECT r.seq, t.percent, t.message
    FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::text[])
      AS t(seq, run, percent, message)
    JOIN reeve.running r ON r.seq = ANY(ARRAY[t.seq]) AND r.run = t.run
    ORDER BY r.seq FOR UPDATE OF r)
  UPDATE reeve.running r SET progress_percent = held.percent,
    progress_message = held.message, version = r.version + 1,
    updated_at = now()
  FROM held WHERE r.seq = ANY(ARRAY[held.seq])
  RETURNING r.seq, r.run)"};

// Whoever holds the lock of a type decides alone who starts a run of it, until
// its commit. Nobody waits for it.
constexpr postgres_statement lock_types_sql{"lock_types", R"(
  SELECT t.job_type, pg_try_advisory_xact_lock($2, hashtext(t.job_type))
  FROM unnest($1::text[]) AS t(job_type))"};
constexpr int32_t type_lock = 0x7265'6576;

// A statement of its own: it must see what was committed before the lock.
constexpr postgres_statement running_of_sql{"running_of", R"(
  SELECT job_type, count(*) FROM reeve.running
  WHERE job_type = ANY($1::text[]) GROUP BY job_type)"};

// A job and its place in the queue come in one commit and go in one: without
// its record a place is what somebody left by hand, and must not be in the way.
constexpr postgres_statement drop_strays_sql{"drop_strays", R"(
  DELETE FROM reeve.queue WHERE ctid = ANY(ARRAY(
    SELECT q.ctid FROM reeve.queue q WHERE q.seq = ANY($1::bigint[])
      AND NOT EXISTS (SELECT FROM reeve.job j WHERE j.seq = ANY(ARRAY[q.seq]))
    FOR UPDATE SKIP LOCKED)))"};

// When to look again at a type that another node was claiming.
constexpr std::chrono::milliseconds after_busy_type{25};

// How often another node may be faster with what we are about to take.
constexpr int max_rounds = 20;

} // namespace

// How many to take of which type and priority is settled before anything is
// locked, so that no row is locked in vain. Then each of these is walked along
// the index, past what other nodes have locked, and what was locked is deleted
// where it stands, without another look-up: two claims at once share a backlog
// without waiting for each other. The walk ends as many jobs behind the last
// one that was found as were found: somebody may have locked them all, and each
// one that is locked costs as much as one that is taken. (Shares are grouped by
// one column, and none of a table: by two, each claim out of a long queue began
// with making room for 40,000 groups.) The row without a job lists what was
// found and not taken where too little was taken: the caller asks again without
// it. (NOT IN is looked up in a hash; `<> ALL` compares each with each.) There,
// too, stand which types are paused and, unless all that was asked for is
// taken, when the next job is due. The locked rows are a materialized set: else
// the planner may run the LIMIT again and take more than was asked. The answer
// carries neither what is the same for every job that has just started nor what
// a job has before its first run: nobody reads it again.
const postgres_statement claim_statement{"claim", R"(
  WITH wanted AS MATERIALIZED (
    SELECT t.job_type, max(t.most) AS most, row_number() OVER () AS number
    FROM unnest($5::text[], $6::bigint[]) AS t(job_type, most)
    WHERE NOT EXISTS (SELECT FROM reeve.types p
                      WHERE p.job_type = t.job_type AND p.paused)
    GROUP BY t.job_type),
  candidate AS MATERIALIZED (
    SELECT c.seq, c.priority, c.run_at, wanted.number,
      wanted.number * 4096 + c.priority AS share
    FROM wanted CROSS JOIN LATERAL (
      WITH RECURSIVE)" REEVE_PRIORITIES_OF_WANTED R"(
      SELECT d.seq, d.priority, d.run_at
      FROM level CROSS JOIN LATERAL (
        SELECT q.seq, q.priority, q.run_at FROM reeve.queue q
        WHERE q.job_type = wanted.job_type AND q.priority = level.priority
          AND q.run_at <= now()
          AND q.seq NOT IN (SELECT unnest($7::bigint[]))
        ORDER BY q.run_at, q.seq LIMIT least(wanted.most, $1)) d
      LIMIT least(wanted.most, $1)) c
    ORDER BY c.priority, c.run_at, c.seq LIMIT $1),
  share AS MATERIALIZED (
    SELECT wanted.job_type, c.priority, c.jobs,
      coalesce(h.run_at, now()) AS run_at,
      coalesce(h.seq, 9223372036854775807) AS seq
    FROM (SELECT min(number) AS number, min(priority) AS priority,
            count(*) AS jobs, max(run_at) AS run_at, max(seq) AS seq
          FROM candidate GROUP BY share) c
    JOIN wanted USING (number)
    LEFT JOIN LATERAL (
      SELECT q.run_at, q.seq FROM reeve.queue q
      WHERE q.job_type = wanted.job_type AND q.priority = c.priority
        AND (q.run_at, q.seq) > (c.run_at, c.seq) AND q.run_at <= now()
      ORDER BY q.run_at, q.seq OFFSET c.jobs LIMIT 1) h ON true
    ORDER BY c.priority),
  due AS MATERIALIZED (
    SELECT d.place FROM share CROSS JOIN LATERAL (
      SELECT q.ctid AS place FROM reeve.queue q
      WHERE q.job_type = share.job_type AND q.priority = share.priority
        AND (q.run_at, q.seq) <= (share.run_at, share.seq)
        AND q.seq NOT IN (SELECT unnest($7::bigint[]))
      ORDER BY q.run_at, q.seq LIMIT share.jobs
      FOR UPDATE SKIP LOCKED) d),
  taken AS (
    DELETE FROM reeve.queue q USING reeve.job j
    WHERE q.ctid = ANY(ARRAY(SELECT place FROM due))
      AND j.seq = ANY(ARRAY[q.seq])
    RETURNING q.seq, q.job_type, q.priority, q.run_at, q.run, q.attempts,
      q.throttled, q.provider_down, q.interrupted, q.version, j.id,
      j.target_id, j.user_id, j.payload, j.error_message, j.max_attempts,
      j.unique_key, j.created_at, j.input_tokens, j.output_tokens, j.images,
      j.traceparent, j.tracestate),
  started AS (
    INSERT INTO reeve.running (seq, job_type, priority, run_at, run, attempts,
      throttled, provider_down, interrupted, version, lease_owner, lease_until,
      claim_token)
    SELECT seq, job_type, priority, run_at, run + 1, attempts + 1, throttled,
      provider_down, interrupted, version + 1, $2,
      (SELECT now() + $3::bigint * interval '1 millisecond'), $4
    FROM taken)
  SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, now(),
    CASE WHEN found.taken < found.candidates THEN
      array(SELECT seq FROM candidate EXCEPT SELECT seq FROM taken) END,
    CASE WHEN found.taken < $1 THEN
      (SELECT min(x.next) FROM wanted CROSS JOIN LATERAL (
        WITH RECURSIVE)" REEVE_PRIORITIES_OF_WANTED R"(
        SELECT (SELECT min(q.run_at) FROM reeve.queue q
          WHERE q.job_type = wanted.job_type AND q.priority = level.priority
            AND q.run_at > now()) AS next
        FROM level WHERE level.priority IS NOT NULL) x) END,
    )" REEVE_PAUSED_OF("$5") R"(
  FROM (SELECT (SELECT count(*) FROM taken) AS taken,
    (SELECT count(*) FROM candidate) AS candidates) found
  UNION ALL
  SELECT seq, id, job_type, target_id, user_id, payload, error_message,
    max_attempts, priority, unique_key, nullif(run_at, created_at), created_at,
    traceparent, tracestate,
    CASE WHEN (run, attempts, throttled, provider_down, interrupted, version,
        input_tokens, output_tokens, images) <> (0, 0, 0, 0, 0, 1, 0, 0, 0) THEN
      ARRAY[run + 1, attempts + 1, throttled, provider_down, interrupted,
        version + 1, input_tokens, output_tokens, images] END,
    NULL, NULL, NULL, NULL
  FROM taken)"};

void postgres_writer::claim(const slot<claim_write>& x) {
  if (auto no = check(x.what)) {
    x.answer = *std::move(no);
    return;
  }
  if (x.repeated)
    if (auto found = claimed_before(x.what)) {
      x.answer = *std::move(found);
      return;
    }
  x.answer = take(x.what).read();
}

// By an earlier try.
std::optional<claimed> postgres_writer::claimed_before(const claim_write& x) {
  std::vector<int64_t> seqs;
  for (const auto& row :
       run(claimed_with_sql, pqxx::params{x.owner.str(), x.token}))
    seqs.push_back(row[0].as<int64_t>());
  if (seqs.empty())
    return std::nullopt;
  claimed result;
  result.jobs = jobs_by_seq(seqs);
  std::ranges::sort(result.jobs, is_claimed_before);
  // Of several looks perhaps not all were made: who asks again finds out.
  result.more = x.limit > 0;
  return result;
}

postgres_taken postgres_writer::take(const claim_write& x) {
  postgres_taken result{x.limit};
  auto room = room_for(x);
  const auto knows_next = take(x, std::move(room.types), result);
  if (!result.is_full() && !knows_next)
    look_ahead(x, room.is_busy, result.rest());
  return result;
}

void postgres_writer::look_ahead(const claim_write& x, bool is_busy,
                                 claimed& result) {
  std::vector<std::string> types;
  for (const auto& wanted : x.types)
    types.push_back(wanted.type);
  const auto next = run(next_due_sql, pqxx::params{types}).one_row();
  const auto is_due = next[0].as<bool>();
  if (!next[2].is_null())
    result.next_due_in = until(read_time(next[1]), read_time(next[2]));
  // Due jobs that a claim with room left did not get are being taken by
  // another node right now: nothing to ask for again at once. Of a type that
  // another node has locked it may leave some.
  result.more = is_due && x.limit == 0;
  if (is_due && is_busy)
    result.next_due_in =
      std::min(result.next_due_in.value_or(after_busy_type), after_busy_type);
}

// How many of each type to take. Of a type with a limit over all nodes only one
// node at a time takes some.
postgres_writer::claim_room postgres_writer::room_for(const claim_write& x) {
  claim_room result;
  std::map<std::string, int64_t> across;
  for (const auto& wanted : x.types) {
    auto& most = result.types[wanted.type];
    most = std::max(most, int64_t{wanted.limit});
    if (wanted.across == 0)
      continue;
    const auto [i, is_new] = across.emplace(wanted.type, wanted.across);
    i->second = std::min(i->second, int64_t{wanted.across});
  }
  if (across.empty() || x.limit == 0)
    return result;
  std::vector<std::string> limited, ours;
  for (const auto& [type, most] : across)
    limited.push_back(type);
  for (const auto& row :
       run(lock_types_sql, pqxx::params{limited, type_lock})) {
    auto type = row[0].as<std::string>();
    if (row[1].as<bool>()) {
      ours.push_back(std::move(type));
      continue;
    }
    result.is_busy = true;
    result.types[type] = 0;
  }
  if (ours.empty())
    return result;
  for (const auto& row : run(running_of_sql, pqxx::params{ours}))
    across[row[0].as<std::string>()] -= row[1].as<int64_t>();
  for (const auto& type : ours) {
    auto& most = result.types[type];
    most = std::min(most, across[type]);
  }
  return result;
}

// Tells whether it is known when the next job is due: where all wanted types
// were looked at and had room.
bool postgres_writer::take(const claim_write& x,
                           std::map<std::string, int64_t> room,
                           postgres_taken& result) {
  const auto wanted = room;
  std::vector<int64_t> passed_over;
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
    result.add(run(claim_statement,
                   pqxx::params{left, x.owner.str(), bounded(x.lease), x.token,
                                types, limits, passed_over}));
    const auto& missed = result.missed();
    if (missed.empty())
      return types.size() == room.size();
    room = wanted;
    for (const auto& [type, count] : result.count_by_type())
      room[type] -= static_cast<int64_t>(count);
    run(drop_strays_sql, pqxx::params{missed});
    passed_over.insert(passed_over.end(), missed.begin(), missed.end());
  }
  return false;
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
    result.leases.push_back({row[0].as<int64_t>(), row[1].as<int64_t>(),
                             row[2].as<bool>(), row[3].as<int64_t>()});
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
