// persistence/postgres_requests.cpp -- what people ask of jobs and scraps.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/uuid.hpp"

#include <set>

namespace reeve {

namespace {

constexpr postgres_statement jobs_by_id_sql{
  "jobs_by_id",
  "SELECT" REEVE_POSTGRES_JOB_COLUMNS
  "FROM reeve.jobs WHERE id = ANY($1::uuid[])"};

constexpr postgres_statement cancel_waiting_sql{"cancel_waiting", R"(
  WITH held AS MATERIALIZED (
    SELECT seq FROM reeve.queue WHERE seq = ANY($1::bigint[])
    ORDER BY seq FOR UPDATE),
  dropped AS (
    DELETE FROM reeve.queue q USING held WHERE q.seq = ANY(ARRAY[held.seq])
    RETURNING q.*),
  counted AS (
    INSERT INTO reeve.finished_counts (job_type, outcome, jobs)
    SELECT job_type, 'CANCELLED', count(*) FROM dropped GROUP BY job_type)
  UPDATE reeve.job j SET outcome = 'CANCELLED', run_at = d.run_at, run = d.run,
    attempts = d.attempts, throttled = d.throttled,
    provider_down = d.provider_down, interrupted = d.interrupted,
    version = d.version + 1, finished_at = greatest(now(), j.created_at),
    updated_at = greatest(now(), j.created_at)
  FROM dropped d WHERE j.seq = ANY(ARRAY[d.seq])
  RETURNING j.seq, j.price > 0)"};

constexpr postgres_statement request_cancel_sql{"request_cancel", R"(
  WITH held AS MATERIALIZED (
    SELECT seq FROM reeve.running
    WHERE seq = ANY($1::bigint[]) ORDER BY seq FOR UPDATE),
  asked AS (
    UPDATE reeve.running r SET cancel_requested = true,
      version = r.version + 1, updated_at = now()
    FROM held WHERE r.seq = ANY(ARRAY[held.seq]) AND NOT r.cancel_requested)
  SELECT seq, false FROM held)"};

constexpr postgres_statement hold_ended_sql{"hold_ended", R"(
  SELECT j.seq, j.user_id, j.price, j.unique_key,
    EXISTS (SELECT FROM reeve.job o WHERE o.active_key = j.unique_key)
  FROM reeve.job j
  WHERE j.seq = ANY($1::bigint[]) AND j.outcome IN ('FAILED', 'CANCELLED')
  ORDER BY j.seq FOR UPDATE OF j)"};

// The caller holds the jobs.
constexpr postgres_statement reopen_sql{"reopen", R"(
  WITH held AS MATERIALIZED (
    SELECT seq, outcome FROM reeve.job WHERE seq = ANY($1::bigint[])),
  reopened AS (
    UPDATE reeve.job j SET outcome = NULL, result = NULL, finished_at = NULL,
      attempts = 0, throttled = 0, provider_down = 0, interrupted = 0,
      fingerprint = NULL, version = j.version + 1, run_at = now(),
      updated_at = now()
    FROM held WHERE j.seq = ANY(ARRAY[held.seq])
    RETURNING j.*, held.outcome AS old_outcome),
  counted AS (
    INSERT INTO reeve.finished_counts (job_type, outcome, jobs)
    SELECT job_type, old_outcome, -count(*) FROM reopened
    GROUP BY job_type, old_outcome)
  INSERT INTO reeve.queue (seq, job_type, priority, run_at, reason, run,
    version)
  SELECT seq, job_type, priority, run_at, $2, run, version FROM reopened
  RETURNING seq, pg_notify('reeve_queue', ''))"};

constexpr postgres_statement delete_scraps_sql{"delete_scraps", R"(
  WITH held AS MATERIALIZED (
    SELECT id FROM reeve.scraps WHERE id = ANY($1::uuid[])
    ORDER BY id FOR UPDATE)
  DELETE FROM reeve.scraps s USING held WHERE s.id = held.id RETURNING s.id)"};

// How often a job may move between `queue` and `running` while we reach for
// it. Every statement sees what was committed before it.
constexpr int max_rounds = 20;

template <class Slots>
std::vector<std::string> ids_of(const Slots& slots) {
  std::set<std::string> result;
  for (const auto& x : slots)
    if (is_uuid(x.what.id))
      result.insert(lower_case(x.what.id));
  return {result.begin(), result.end()};
}

} // namespace

std::map<std::string, job> postgres_writer::jobs_by_id(
  const std::vector<std::string>& ids) {
  std::map<std::string, job> result;
  if (ids.empty())
    return result;
  for (const auto& row : run(jobs_by_id_sql, pqxx::params{ids})) {
    auto x = read_job(row);
    auto id = x.id;
    result.emplace(std::move(id), std::move(x));
  }
  return result;
}

void postgres_writer::cancel(const std::vector<slot<cancel_write>>& slots) {
  if (slots.empty())
    return;
  const auto ids = ids_of(slots);
  auto known = jobs_by_id(ids);
  std::set<int64_t> open, reached;
  for (const auto& [id, x] : known)
    if (!is_final(x.status))
      open.insert(x.seq);
  for (int round = 0; round < max_rounds && !open.empty(); ++round) {
    for (const auto* sql : {&cancel_waiting_sql, &request_cancel_sql}) {
      const std::vector<int64_t> seqs{open.begin(), open.end()};
      for (const auto& row : run(*sql, pqxx::params{seqs})) {
        reached.insert(row[0].as<int64_t>());
        open.erase(row[0].as<int64_t>());
        if (row[1].as<bool>())
          to_refund_.push_back(row[0].as<int64_t>());
      }
    }
    known = jobs_by_id(ids);
    // What ended by itself meanwhile cannot be cancelled any more.
    for (const auto& [id, x] : known)
      if (is_final(x.status))
        open.erase(x.seq);
  }
  std::set<int64_t> answered;
  for (const auto& x : slots) {
    const auto it =
      is_uuid(x.what.id) ? known.find(lower_case(x.what.id)) : known.end();
    if (it == known.end()) {
      x.answer = no_such("job", x.what.id);
      continue;
    }
    const auto& now = it->second;
    const auto first = answered.insert(now.seq).second;
    const auto asked_before = now.status == job_status::processing
      || (now.status == job_status::cancelled && x.repeated);
    if ((reached.contains(now.seq) && first) || asked_before)
      x.answer = changed{now};
    else
      x.answer = wrong_state(now.status, "cancelled");
  }
}

void postgres_writer::retry(const std::vector<slot<retry_write>>& slots) {
  if (slots.empty())
    return;
  const auto ids = ids_of(slots);
  auto known = jobs_by_id(ids);
  std::vector<int64_t> seqs;
  for (const auto& [id, x] : known)
    seqs.push_back(x.seq);
  const auto reopened = reopen(seqs);
  known = jobs_by_id(ids);
  std::set<int64_t> answered;
  for (const auto& x : slots) {
    const auto it =
      is_uuid(x.what.id) ? known.find(lower_case(x.what.id)) : known.end();
    if (it == known.end()) {
      x.answer = no_such("job", x.what.id);
      continue;
    }
    const auto& now = it->second;
    const auto first = answered.insert(now.seq).second;
    const auto held = reopened.find(now.seq);
    if (held != reopened.end() && held->second)
      x.answer = *held->second;
    else if ((held != reopened.end() && first)
             || (x.repeated && !is_final(now.status)))
      x.answer = changed{now};
    else
      x.answer = wrong_state(now.status, "retried");
  }
}

// Puts ended jobs back into the queue and charges for the paid ones. Of several
// that exclude each other the first in `seqs` goes. A job that is not listed
// had not ended.
std::map<int64_t, std::optional<refusal>> postgres_writer::reopen(
  const std::vector<int64_t>& seqs) {
  std::map<int64_t, std::optional<refusal>> result;
  if (seqs.empty())
    return result;
  std::map<int64_t, pqxx::row> ended;
  std::set<std::string> payers, keys;
  std::vector<int64_t> priced;
  for (const auto& row : run(hold_ended_sql, pqxx::params{seqs})) {
    ended.emplace(row[0].as<int64_t>(), row);
    if (row[2].as<int64_t>() > 0) {
      payers.insert(row[1].as<std::string>());
      priced.push_back(row[0].as<int64_t>());
    }
  }
  auto held = hold_accounts(payers);
  const auto paid = paid_jobs(priced);
  std::vector<int64_t> to_open, to_charge;
  for (auto seq : seqs) {
    const auto i = ended.find(seq);
    if (i == ended.end() || result.contains(seq))
      continue;
    const auto& row = i->second;
    const auto price = row[2].as<int64_t>();
    const auto key = read_text(row[3]);
    auto& why_not = result[seq];
    if (row[4].as<bool>() || (key && keys.contains(*key))) {
      why_not = key_is_held();
      continue;
    }
    if (price > 0 && !paid.contains(seq)) {
      auto& balance = held[row[1].as<std::string>()];
      if (balance < price) {
        why_not = too_expensive(balance, price);
        continue;
      }
      balance -= price;
      to_charge.push_back(seq);
    }
    if (key)
      keys.insert(*key);
    to_open.push_back(seq);
  }
  if (!to_open.empty())
    run(reopen_sql, pqxx::params{to_open, retried_reason});
  charge(to_charge);
  return result;
}

void postgres_writer::delete_scraps(
  const std::vector<slot<delete_scrap_write>>& slots) {
  if (slots.empty())
    return;
  std::set<std::string> deleted;
  const auto ids = ids_of(slots);
  if (!ids.empty())
    for (const auto& row : run(delete_scraps_sql, pqxx::params{ids}))
      deleted.insert(row[0].as<std::string>());
  for (const auto& x : slots) {
    const auto there =
      is_uuid(x.what.id) && deleted.erase(lower_case(x.what.id)) > 0;
    if (there || (x.repeated && is_uuid(x.what.id)))
      x.answer = done{};
    else
      x.answer = no_such("scrap", x.what.id);
  }
}

} // namespace reeve
