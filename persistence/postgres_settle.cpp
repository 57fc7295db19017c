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

// Locked until the commit: a scrap cannot go while its card comes.
constexpr postgres_statement hold_scraps_sql{"hold_scraps", R"(
  SELECT id FROM reeve.scraps WHERE id = ANY($1::uuid[])
  ORDER BY id FOR KEY SHARE)"};

// Arrays of arrays would be flattened: the inner ones come as text.
constexpr postgres_statement insert_cards_sql{"insert_cards", R"(
  INSERT INTO reeve.knowledge_cards (id, scrap_id, job_id, user_id, summary,
    tags, embedding, model)
  SELECT id, scrap_id, job_id, user_id, summary, tags::text[],
    embedding::real[], model
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[],
    $6::text[], $7::text[], $8::text[])
    AS t(id, scrap_id, job_id, user_id, summary, tags, embedding, model)
  ON CONFLICT (job_id) DO NOTHING)"};

using texts = std::vector<std::string>;
using maybe_texts = std::vector<std::optional<std::string>>;

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
  held_runs held;
  for (const auto& row : run(hold_runs_sql, pqxx::params{seqs, runs}))
    held[row[0].as<int64_t>()] = {row[1].as<int64_t>(), row[2].as<bool>()};
  std::vector<const slot<settle_write>*> ours, lost;
  std::vector<run_end> ends;
  std::vector<const knowledge_card*> cards;
  for (const auto* x : open) {
    const auto& what = x->what;
    const auto it = held.find(what.claimed.seq);
    if (it == held.end() || it->second.first != what.claimed.run) {
      lost.push_back(x);
      continue;
    }
    ends.push_back(decide(what, it->second.second));
    const auto has_card = what.decision == verdict::complete && what.card;
    cards.push_back(has_card ? &*what.card : nullptr);
    ours.push_back(x);
    // A second write for the same run comes too late.
    held.erase(it);
  }
  store_cards(cards, ends);
  end_runs(ends);
  std::vector<int64_t> settled;
  for (const auto& end : ends)
    settled.push_back(end.seq);
  auto jobs = jobs_by_seq(settled);
  for (size_t i = 0; i < ours.size(); ++i)
    ours[i]->answer = changed{std::move(jobs[i])};
  settle_again(lost);
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

// `cards[i]` belongs to `ends[i]`, which fails when the card's scrap is gone.
void postgres_writer::store_cards(
  const std::vector<const knowledge_card*>& cards, std::vector<run_end>& ends) {
  texts wanted;
  for (const auto* card : cards)
    if (card && is_uuid(card->scrap_id))
      wanted.push_back(lower_case(card->scrap_id));
  std::set<std::string> there;
  if (!wanted.empty())
    for (const auto& row : run(hold_scraps_sql, pqxx::params{wanted}))
      there.insert(row[0].as<std::string>());
  texts ids, scraps, jobs, summaries, tags, embeddings, models;
  maybe_texts users;
  for (size_t i = 0; i < cards.size(); ++i) {
    const auto* card = cards[i];
    if (!card)
      continue;
    const auto scrap_id = lower_case(card->scrap_id);
    if (!there.contains(scrap_id)) {
      ends[i].outcome = run_outcome::failed_permanently;
      ends[i].decision = verdict::fail;
      ends[i].result = std::nullopt;
      ends[i].error = target_gone_message;
      ends[i].why = "the target is gone";
      continue;
    }
    ids.push_back(lower_case(card->id));
    scraps.push_back(scrap_id);
    jobs.push_back(lower_case(card->job_id));
    users.push_back(card->user_id);
    summaries.push_back(card->summary);
    tags.push_back(pqxx::to_string(card->tags));
    embeddings.push_back(pqxx::to_string(card->embedding));
    models.push_back(card->model);
  }
  if (!ids.empty())
    run(insert_cards_sql,
        pqxx::params{ids, scraps, jobs, users, summaries, tags, embeddings,
                     models});
}

} // namespace reeve
