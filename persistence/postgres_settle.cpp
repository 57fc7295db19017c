// persistence/postgres_settle.cpp -- how runs end by what their actors say.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/text.hpp"
#include "persistence/uuid.hpp"

#include <algorithm>
#include <unordered_set>

namespace reeve {

namespace {

constexpr postgres_statement hold_runs_sql{"hold_runs", R"(
  SELECT r.seq, r.run, r.cancel_requested FROM reeve.running r
  WHERE r.seq = ANY($1::bigint[]) ORDER BY r.seq FOR UPDATE)"};

// An earlier try left its mark, unless the mark is that of a rescue.
constexpr postgres_statement was_settled_sql{"was_settled", R"(
  SELECT t.seq, t.run
  FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS t(seq, run, lost)
  WHERE EXISTS (SELECT FROM reeve.job_attempts a
                WHERE a.seq = t.seq AND a.run = t.run
                  AND (t.lost = 1 OR a.outcome <> 'lost'))
    OR EXISTS (SELECT FROM reeve.job j
               WHERE j.seq = t.seq AND j.run = t.run
                 AND j.outcome = 'COMPLETED'))"};

using run_key = std::pair<int64_t, int64_t>;

run_key key_of(const settle_write& x) {
  return {x.claimed.seq, x.claimed.run};
}

struct run_key_hash {
  size_t operator()(const run_key& x) const {
    return std::hash<int64_t>{}(x.first * 31 + x.second);
  }
};

// Columns: those that `complete_statement` returns.
job completed(const settle_write& x, const pqxx::row& row) {
  auto result = x.claimed;
  result.status = job_status::completed;
  result.result = x.result;
  result.progress_percent = 100;
  result.progress_message.clear();
  result.error_message.reset();
  result.reason.clear();
  result.cancel_requested = false;
  result.version = row[2].as<int64_t>();
  result.attempts = row[3].as<uint32_t>();
  result.started_at = read_time(row[4]);
  result.finished_at = read_time(row[5]);
  result.updated_at = *result.finished_at;
  result.used = {row[6].as<uint64_t>(), row[7].as<uint64_t>(),
                 row[8].as<uint64_t>()};
  return result;
}

} // namespace

// Deletes what still runs as claimed; what is not returned does not. Read-only
// columns of a record, and what a claim set, are as the caller knows them.
const postgres_statement complete_statement{"complete", R"(
  WITH ended AS (
    DELETE FROM reeve.running r
    USING unnest($1::bigint[], $2::bigint[], $3::text[])
      AS t(seq, run, result)
    WHERE r.seq = ANY(ARRAY[t.seq]) AND r.run = t.run
    RETURNING r.seq, r.job_type, r.run_at, r.run, r.attempts, r.throttled,
      r.provider_down, r.interrupted, r.version, r.started_at, t.result),
  counted AS (
    INSERT INTO reeve.finished_counts (job_type, outcome, jobs)
    SELECT job_type, 'COMPLETED', count(*) FROM ended GROUP BY job_type)
  UPDATE reeve.job j SET outcome = 'COMPLETED', result = e.result::jsonb,
    error_message = NULL, attempts = e.attempts, run = e.run,
    throttled = e.throttled, provider_down = e.provider_down,
    interrupted = e.interrupted, version = e.version + 1, run_at = e.run_at,
    started_at = e.started_at, finished_at = greatest(now(), e.started_at),
    updated_at = greatest(now(), e.started_at), fingerprint = NULL
  FROM ended e WHERE j.seq = ANY(ARRAY[e.seq])
  RETURNING j.seq, j.run, j.version, j.attempts, j.started_at, j.finished_at,
    j.input_tokens, j.output_tokens, j.images)"};

bool postgres_writer::is_plain(const settle_write& x) {
  return x.decision == verdict::complete && x.effects.empty();
}

void postgres_writer::settle(const std::vector<slot<settle_write>>& slots) {
  if (slots.empty())
    return;
  std::vector<const slot<settle_write>*> plain, others, lost;
  std::unordered_set<run_key, run_key_hash> seen;
  plain.reserve(slots.size());
  seen.reserve(slots.size());
  for (const auto& x : slots) {
    if (auto no = check(x.what))
      x.answer = *std::move(no);
    // A second write for the same run comes too late.
    else if (!seen.insert(key_of(x.what)).second)
      lost.push_back(&x);
    else if (is_plain(x.what))
      plain.push_back(&x);
    else
      others.push_back(&x);
  }
  for (const auto* x : complete(std::move(plain)))
    lost.push_back(x);
  for (const auto* x : end_one_way_or_another(others))
    lost.push_back(x);
  settle_again(lost);
}

// The many ends that are nothing but a success. Returns those whose run is no
// longer under way.
std::vector<const postgres_writer::slot<settle_write>*> postgres_writer::
  complete(std::vector<const slot<settle_write>*> slots) {
  if (slots.empty())
    return slots;
  // The order in which everybody locks runs.
  auto key_in = [](const auto* x) { return key_of(x->what); };
  std::ranges::sort(slots, {}, key_in);
  std::vector<int64_t> seqs, runs;
  std::vector<std::optional<std::string_view>> results;
  seqs.reserve(slots.size());
  runs.reserve(slots.size());
  results.reserve(slots.size());
  for (const auto* x : slots) {
    seqs.push_back(x->what.claimed.seq);
    runs.push_back(x->what.claimed.run);
    results.emplace_back();
    if (!x->what.result.is_null())
      results.back() = x->what.result.text();
  }
  std::vector<bool> done(slots.size());
  for (const auto& row :
       run(complete_statement, pqxx::params{seqs, runs, results})) {
    const run_key key{row[0].as<int64_t>(), row[1].as<int64_t>()};
    const auto at = std::ranges::lower_bound(slots, key, {}, key_in);
    (*at)->answer = changed{completed((*at)->what, row)};
    done[static_cast<size_t>(at - slots.begin())] = true;
  }
  std::vector<const slot<settle_write>*> lost;
  for (size_t i = 0; i < slots.size(); ++i)
    if (!done[i])
      lost.push_back(slots[i]);
  return lost;
}

// Ends of all kinds. Returns those whose run is no longer under way.
std::vector<const postgres_writer::slot<settle_write>*> postgres_writer::
  end_one_way_or_another(const std::vector<const slot<settle_write>*>& slots) {
  std::vector<const slot<settle_write>*> ours, lost;
  if (slots.empty())
    return lost;
  std::vector<int64_t> seqs;
  for (const auto* x : slots)
    seqs.push_back(x->what.claimed.seq);
  const auto held = hold_runs(seqs);
  std::vector<run_end> ends;
  std::vector<owned_effect> effects;
  for (const auto* x : slots) {
    const auto& what = x->what;
    const auto it = held.find(what.claimed.seq);
    if (it == held.end() || it->second.first != what.claimed.run) {
      lost.push_back(x);
      continue;
    }
    ends.push_back(decide(what, it->second.second));
    if (what.decision == verdict::complete)
      for (const auto& effect : what.effects)
        effects.push_back({ends.size() - 1, &effect});
    ours.push_back(x);
  }
  for (auto i : store_effects(effects)) {
    ends[i].outcome = run_outcome::failed_permanently;
    ends[i].decision = verdict::fail;
    ends[i].result = std::nullopt;
    ends[i].error = target_gone_message;
    ends[i].why = "the target is gone";
  }
  end_runs(ends);
  std::vector<int64_t> settled;
  for (const auto& end : ends)
    settled.push_back(end.seq);
  auto jobs = jobs_by_seq(settled);
  for (size_t i = 0; i < ours.size(); ++i)
    ours[i]->answer = changed{std::move(jobs[i])};
  return lost;
}

postgres_writer::held_runs postgres_writer::hold_runs(
  const std::vector<int64_t>& seqs) {
  held_runs result;
  result.reserve(seqs.size());
  for (const auto& row : run(hold_runs_sql, pqxx::params{seqs}))
    result[row[0].as<int64_t>()] = {row[1].as<int64_t>(), row[2].as<bool>()};
  return result;
}

postgres_writer::run_end postgres_writer::decide(const settle_write& x,
                                                 bool cancel_requested) {
  run_end result;
  result.seq = x.claimed.seq;
  result.run = x.claimed.run;
  result.node = x.owner.node;
  result.outcome = x.outcome;
  result.decision = effective_decision(x.decision, cancel_requested);
  result.why =
    result.decision == x.decision ? sanitized(x.why) : "cancel requested";
  result.delay = x.delay;
  result.reason = waiting_reason(x.outcome);
  if (result.decision != verdict::complete)
    result.error = storable_error(x.error);
  else if (!x.result.is_null())
    result.result = x.result.text();
  return result;
}

void postgres_writer::settle_again(
  const std::vector<const slot<settle_write>*>& lost) {
  std::vector<int64_t> seqs, runs;
  std::vector<int> were_lost;
  for (const auto* x : lost) {
    x->answer = lease_is_lost(x->what.claimed.seq, x->what.claimed.run);
    if (!x->repeated)
      continue;
    seqs.push_back(x->what.claimed.seq);
    runs.push_back(x->what.claimed.run);
    were_lost.push_back(x->what.outcome == run_outcome::lost ? 1 : 0);
  }
  if (seqs.empty())
    return;
  std::unordered_set<run_key, run_key_hash> done_before;
  std::vector<int64_t> done_seqs;
  for (const auto& row :
       run(was_settled_sql, pqxx::params{seqs, runs, were_lost})) {
    done_before.emplace(row[0].as<int64_t>(), row[1].as<int64_t>());
    done_seqs.push_back(row[0].as<int64_t>());
  }
  std::unordered_map<int64_t, job> jobs;
  for (auto& x : jobs_by_seq(done_seqs))
    jobs.emplace(x.seq, std::move(x));
  for (const auto* x : lost) {
    if (x->repeated && done_before.contains(key_of(x->what)))
      x->answer = changed{jobs.at(x->what.claimed.seq)};
  }
}

} // namespace reeve
