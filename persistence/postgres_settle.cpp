// persistence/postgres_settle.cpp -- how runs end by what their actors say.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/text.hpp"
#include "persistence/uuid.hpp"

#include <set>

namespace reeve {

namespace {

constexpr postgres_statement hold_runs_sql{"hold_runs", R"(
  SELECT r.seq, r.run, r.cancel_requested
  FROM unnest($1::bigint[], $2::bigint[]) AS t(seq, run)
  JOIN reeve.running r ON r.seq = t.seq AND r.run = t.run
  ORDER BY r.seq FOR UPDATE OF r)"};

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

} // namespace

void postgres_writer::settle(const std::vector<slot<settle_write>>& slots) {
  if (slots.empty())
    return;
  std::vector<const slot<settle_write>*> open;
  std::vector<int64_t> seqs, runs;
  for (const auto& x : slots) {
    if (auto no = check(x.what)) {
      x.answer = *std::move(no);
      continue;
    }
    open.push_back(&x);
    seqs.push_back(x.what.claimed.seq);
    runs.push_back(x.what.claimed.run);
  }
  auto held = hold_runs(seqs, runs);
  std::vector<const slot<settle_write>*> ours, lost;
  std::vector<run_end> ends;
  std::vector<owned_effect> effects;
  for (const auto* x : open) {
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
    // A second write for the same run comes too late.
    held.erase(it);
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
  settle_again(lost);
}

postgres_writer::held_runs postgres_writer::hold_runs(
  const std::vector<int64_t>& seqs, const std::vector<int64_t>& runs) {
  held_runs result;
  for (const auto& row : run(hold_runs_sql, pqxx::params{seqs, runs}))
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
    result.result = x.result.dump();
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
  std::set<std::pair<int64_t, int64_t>> done_before;
  std::vector<int64_t> done_seqs;
  for (const auto& row :
       run(was_settled_sql, pqxx::params{seqs, runs, were_lost})) {
    done_before.emplace(row[0].as<int64_t>(), row[1].as<int64_t>());
    done_seqs.push_back(row[0].as<int64_t>());
  }
  std::map<int64_t, job> jobs;
  for (auto& x : jobs_by_seq(done_seqs))
    jobs.emplace(x.seq, std::move(x));
  for (const auto* x : lost) {
    const auto& run_of = x->what.claimed;
    if (x->repeated && done_before.contains({run_of.seq, run_of.run}))
      x->answer = changed{jobs.at(run_of.seq)};
  }
}

} // namespace reeve
