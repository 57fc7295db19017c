// persistence/postgres_insert.cpp -- new jobs become rows: they wait, or start
// as they come in.
#include "persistence/postgres_queue.hpp"
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"

#include <algorithm>

namespace reeve {

namespace {

// Jobs whose id or key is taken are left out, also when their holder is
// earlier in the same statement or in a transaction that we wait for.
#define REEVE_NEW_JOB \
  " new_job AS (" \
  "   INSERT INTO reeve.job (id, job_type, target_id, user_id, payload," \
  "     priority, run_at, max_attempts, unique_key, idempotency_key," \
  "     idempotency_hash, price, traceparent, tracestate)" \
  "   SELECT id, job_type, target_id, user_id, payload::jsonb, priority," \
  "     coalesce(reeve.instant(run_at), now()), max_attempts, unique_key," \
  "     idempotency_key, idempotency_hash, price, traceparent, tracestate" \
  "   FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[]," \
  "     $6::int[], $7::bigint[], $8::int[], $9::text[], $10::text[]," \
  "     $11::text[], $12::bigint[], $13::text[], $14::text[])" \
  "     WITH ORDINALITY AS t(id, job_type, target_id, user_id, payload," \
  "       priority, run_at, max_attempts, unique_key, idempotency_key," \
  "       idempotency_hash, price, traceparent, tracestate, position)" \
  "   ORDER BY position" \
  "   ON CONFLICT DO NOTHING" \
  "   RETURNING seq, id, job_type, priority, run_at, created_at)"

constexpr postgres_statement insert_jobs_sql{"insert_jobs",
                                             "WITH" REEVE_NEW_JOB R"(,
  waiting AS (
    INSERT INTO reeve.queue (seq, job_type, priority, run_at)
    SELECT seq, job_type, priority, run_at FROM new_job)
  SELECT seq, id, reeve.micros(run_at), reeve.micros(created_at)
  FROM new_job)"};

using texts = std::vector<std::string>;
using maybe_texts = std::vector<std::optional<std::string>>;

} // namespace

// Nobody passes by jobs that are due: while there are any, new ones wait like
// all others, and a claim decides. (The statement does not see its own rows.)
const postgres_statement start_jobs_statement{"start_jobs",
                                              "WITH" REEVE_NEW_JOB R"(,
  wanted AS MATERIALIZED (
    SELECT DISTINCT t.job_type FROM unnest($15::text[]) AS t(job_type)
    WHERE NOT EXISTS (SELECT FROM reeve.types p
                      WHERE p.job_type = t.job_type AND p.paused)),
  queued AS MATERIALIZED (
    SELECT coalesce(bool_or(x.due), false) AS is_due, min(x.next) AS next
    FROM)" REEVE_DUE_OF_WANTED R"(x),
  starting AS MATERIALIZED (
    SELECT n.* FROM new_job n JOIN wanted w ON w.job_type = n.job_type
    WHERE NOT (SELECT is_due FROM queued)),
  waiting AS (
    INSERT INTO reeve.queue (seq, job_type, priority, run_at)
    SELECT seq, job_type, priority, run_at FROM new_job
    WHERE seq NOT IN (SELECT seq FROM starting)),
  started AS (
    INSERT INTO reeve.running (seq, job_type, priority, run_at, run, attempts,
      throttled, provider_down, interrupted, version, lease_owner, lease_until,
      claim_token)
    SELECT seq, job_type, priority, run_at, 1, 1, 0, 0, 0, 2, $16,
      now() + $17::bigint * interval '1 millisecond', $18
    FROM starting)
  SELECT n.seq, n.id, reeve.micros(n.run_at), reeve.micros(n.created_at),
    n.seq IN (SELECT seq FROM starting), q.is_due, now(), q.next
  FROM new_job n CROSS JOIN queued q)"};

// -- which claim --------------------------------------------------------------

// The statement looks at the queue once, when it begins. So everything that
// takes another look is left to a claim of its own: keys and balances that
// others may hold, limits over all nodes, and runs that this batch puts back.
std::optional<postgres_writer::starter> postgres_writer::starter_of(
  std::span<const postgres_item> items) {
  std::optional<starter> result;
  std::map<std::string_view, uint32_t> arrived;
  uint32_t count = 0;
  for (const auto& item : items) {
    const auto& what = item.entry->what;
    if (const auto* one = std::get_if<enqueue_write>(&what)) {
      if (one->run_at || !is_keyless(*one))
        return std::nullopt;
      ++count;
      ++arrived[one->type];
    } else if (const auto* claim = std::get_if<claim_write>(&what)) {
      if (result || item.entry->repeated || check(*claim))
        return std::nullopt;
      result = starter{claim, item.answer};
    } else if (const auto* end = std::get_if<settle_write>(&what)) {
      if (puts_back(end->decision))
        return std::nullopt;
    } else if (!std::holds_alternative<progress_write>(what)
               && !std::holds_alternative<step_write>(what)
               && !std::holds_alternative<heartbeat_write>(what)) {
      return std::nullopt;
    }
  }
  if (!result || count > result->what->limit)
    return std::nullopt;
  auto may_start = false;
  for (const auto& wanted : result->what->types)
    if (const auto i = arrived.find(wanted.type); i != arrived.end()) {
      if (wanted.across > 0 || i->second > wanted.limit)
        return std::nullopt;
      may_start = true;
    }
  return may_start ? result : std::nullopt;
}

// Jobs that wait for a limit over all nodes may be due all the time: looking
// again would then be a second transaction for each job.
bool postgres_writer::is_one_start(std::span<const postgres_item> items) {
  if (items.size() != 2)
    return false;
  const auto found = starter_of(items);
  if (!found
      || std::ranges::any_of(found->what->types, [](const claimable_type& x) {
           return x.across > 0;
         }))
    return false;
  return std::ranges::any_of(items, [](const postgres_item& x) {
    const auto* one = std::get_if<enqueue_write>(&x.entry->what);
    return one != nullptr && !x.entry->repeated && !one->new_scrap
      && !one->new_content;
  });
}

// -- rows ---------------------------------------------------------------------

void postgres_writer::insert_jobs(const std::vector<arrival*>& open) {
  texts ids, types, targets, payloads;
  maybe_texts users, unique_keys, idempotency_keys, idempotency_hashes;
  std::vector<int32_t> priorities;
  // As texts: libpqxx 7.10 reserves too little for NULLs among numbers.
  maybe_texts due;
  std::vector<int64_t> max_attempts, prices;
  // Shorter than the others while none has one: then they are NULL.
  maybe_texts traceparents, tracestates;
  for (const auto* x : open) {
    const auto& what = x->what;
    ids.push_back(lower_case(what.id));
    types.push_back(what.type);
    targets.push_back(what.target_id);
    users.push_back(what.user_id);
    payloads.push_back(what.payload.text());
    priorities.push_back(what.priority);
    due.push_back(std::nullopt);
    if (what.run_at)
      due.back() = std::to_string(what.run_at->time_since_epoch().count());
    max_attempts.push_back(what.max_attempts);
    unique_keys.push_back(what.unique_key);
    idempotency_keys.push_back(what.idempotency_key);
    idempotency_hashes.push_back(what.idempotency_hash);
    prices.push_back(what.price);
    if (what.trace) {
      traceparents.resize(ids.size());
      tracestates.resize(ids.size());
      traceparents.back() = what.trace.parent;
      tracestates.back() = text_or_null(what.trace.state);
    }
  }
  pqxx::params values{ids,
                      types,
                      targets,
                      users,
                      payloads,
                      priorities,
                      due,
                      max_attempts,
                      unique_keys,
                      idempotency_keys,
                      idempotency_hashes,
                      prices,
                      traceparents,
                      tracestates};
  const auto starts = starter_ && !starter_->is_answered;
  const auto rows =
    starts ? run_starting(std::move(values)) : run(insert_jobs_sql, values);
  std::map<std::string, pqxx::row> created;
  for (const auto& row : rows)
    created.emplace(row[1].as<std::string>(), row);
  std::vector<const job*> begun;
  for (auto* x : open)
    if (auto node = created.extract(lower_case(x->what.id))) {
      const auto& row = node.mapped();
      place(*x, row[0].as<int64_t>(), read_time(row[2]), read_time(row[3]));
      if (starts && row[4].as<bool>())
        begun.push_back(&std::get<enqueued>(x->result).job);
    }
  if (starts && !rows.empty())
    answer_starter(rows[0], begun);
}

pqxx::result postgres_writer::run_starting(pqxx::params&& values) {
  const auto& claim = *starter_->what;
  texts wanted;
  for (const auto& x : claim.types)
    if (x.limit > 0)
      wanted.push_back(x.type);
  values.append(wanted);
  values.append(claim.owner.str());
  values.append(bounded(claim.lease));
  values.append(claim.token);
  return run(start_jobs_statement, values);
}

// What a claim would have answered. While others are due it has to.
void postgres_writer::answer_starter(const pqxx::row& first,
                                     const std::vector<const job*>& begun) {
  if (first[5].as<bool>())
    return;
  claimed result;
  for (const auto* x : begun) {
    auto run = *x;
    run.status = job_status::processing;
    run.run = 1;
    run.attempts = 1;
    run.version = 2;
    // All of it happens at one instant.
    run.started_at = run.created_at;
    result.jobs.push_back(std::move(run));
  }
  // Nothing else is due, hence `more` stays false.
  std::ranges::sort(result.jobs, is_claimed_before);
  if (!first[7].is_null())
    result.next_due_in = until(read_time(first[6]), read_time(first[7]));
  *starter_->answer = std::move(result);
  starter_->is_answered = true;
}

} // namespace reeve
