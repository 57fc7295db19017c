// persistence/postgres_settle.cpp -- how runs end by what their actors say.
#include "persistence/postgres_completions.hpp"
#include "persistence/postgres_fragments.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/text.hpp"
#include "persistence/uuid.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

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

} // namespace

const postgres_statement complete_statement{
  "complete", "WITH" REEVE_ENDED_RUNS("$1", "$2", "$3") REEVE_COMPLETE_ENDED};

void postgres_writer::settle(const std::vector<slot<settle_write>>& slots) {
  if (slots.empty())
    return;
  std::vector<const slot<settle_write>*> in_order, plain, others, lost;
  in_order.reserve(slots.size());
  for (const auto& x : slots)
    if (auto no = check(x.what))
      x.answer = *std::move(no);
    else
      in_order.push_back(&x);
  std::ranges::stable_sort(in_order, {}, key_in);
  plain.reserve(in_order.size());
  std::optional<run_key> last;
  for (const auto* x : in_order) {
    // A second write for the same run comes too late.
    if (std::exchange(last, key_in(x)) == key_in(x))
      lost.push_back(x);
    else if (is_plain(x->what))
      plain.push_back(x);
    else
      others.push_back(x);
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
  completions ends{std::move(slots)};
  pqxx::params values;
  ends.add_to(values);
  for (const auto& row : run(complete_statement, values))
    ends.answer(postgres_columns{row});
  return ends.unanswered();
}

// Ends of all kinds. Returns those whose run is no longer under way.
std::vector<const postgres_writer::slot<settle_write>*> postgres_writer::
  end_one_way_or_another(const std::vector<const slot<settle_write>*>& slots) {
  std::vector<const slot<settle_write>*> ours, lost;
  if (slots.empty())
    return lost;
  std::vector<int64_t> seqs;
  for (const auto* x : slots)
    seqs.push_back(x->what.claimed->seq);
  const auto held = hold_runs(seqs);
  std::vector<run_end> ends;
  std::vector<owned_effect> effects;
  for (const auto* x : slots) {
    const auto& what = x->what;
    const auto it = held.find(what.claimed->seq);
    if (it == held.end() || it->second.first != what.claimed->run) {
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
  result.seq = x.claimed->seq;
  result.run = x.claimed->run;
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
    x->answer = lease_is_lost(x->what.claimed->seq, x->what.claimed->run);
    if (!x->repeated)
      continue;
    seqs.push_back(x->what.claimed->seq);
    runs.push_back(x->what.claimed->run);
    were_lost.push_back(x->what.outcome == run_outcome::lost ? 1 : 0);
  }
  if (seqs.empty())
    return;
  std::set<run_key> done_before;
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
    if (x->repeated && done_before.contains(key_in(x)))
      x->answer = changed{jobs.at(x->what.claimed->seq)};
  }
}

} // namespace reeve
