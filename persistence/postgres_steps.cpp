// persistence/postgres_steps.cpp -- parts of jobs that are done once, and what
// they cost.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_store.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/uuid.hpp"

namespace reeve {

namespace {

constexpr postgres_statement has_step_sql{"has_step", R"(
  SELECT 1 FROM reeve.job_steps
  WHERE seq = $1 AND name = $2 AND input_hash = $3)"};

// The caller holds the run, and has seen that the step is new.
constexpr postgres_statement add_step_sql{"add_step", R"(
  WITH added AS (
    INSERT INTO reeve.job_steps (seq, run, name, input_hash, result, provider,
      model, input_tokens, output_tokens, images, took_ms)
    VALUES ($1, $2, $3, $4, $5::jsonb, $6, $7, $8, $9, $10, $11)
    RETURNING *),
  spent AS (
    UPDATE reeve.job j SET input_tokens = j.input_tokens + a.input_tokens,
      output_tokens = j.output_tokens + a.output_tokens,
      images = j.images + a.images
    FROM added a WHERE j.seq = a.seq)
  UPDATE reeve.running r SET version = r.version + 1, updated_at = now()
  FROM added a WHERE r.seq = a.seq)"};

constexpr postgres_statement steps_sql{"steps", R"(
  SELECT s.name, s.input_hash, s.result, s.provider, s.model, s.input_tokens,
    s.output_tokens, s.images, s.took_ms, s.run, s.created_at
  FROM reeve.job_steps s JOIN reeve.job j ON j.seq = s.seq
  WHERE j.id = $1 ORDER BY s.position)"};

#define REEVE_USAGE(key) \
  "SELECT " key ", count(DISTINCT s.seq), count(*)," \
  " sum(s.input_tokens)::bigint, sum(s.output_tokens)::bigint," \
  " sum(s.images)::bigint" \
  " FROM reeve.job_steps s JOIN reeve.job j ON j.seq = s.seq" \
  " WHERE s.created_at >= reeve.instant($1)" \
  " AND s.created_at < reeve.instant($2) GROUP BY 1"

constexpr postgres_statement usage_by_type_sql{"usage_by_type",
                                               REEVE_USAGE("j.job_type")};
constexpr postgres_statement usage_by_user_sql{
  "usage_by_user", REEVE_USAGE("coalesce(j.user_id, '')")};
constexpr postgres_statement usage_by_day_sql{
  "usage_by_day",
  REEVE_USAGE("to_char(s.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')")};

const postgres_statement& usage_sql(usage_group by) {
  switch (by) {
    case usage_group::type:
      return usage_by_type_sql;
    case usage_group::user:
      return usage_by_user_sql;
    case usage_group::day:
      return usage_by_day_sql;
  }
  return usage_by_type_sql;
}

job_step read_step(const pqxx::row& row) {
  job_step result;
  result.name = row[0].as<std::string>();
  result.input_hash = row[1].as<std::string>();
  result.result = read_json(row[2]);
  result.provider = row[3].as<std::string>();
  result.model = row[4].as<std::string>();
  result.used = {row[5].as<uint64_t>(), row[6].as<uint64_t>(),
                 row[7].as<uint64_t>()};
  result.took = std::chrono::milliseconds{row[8].as<int64_t>()};
  result.run = row[9].as<int64_t>();
  result.created_at = read_time(row[10]);
  return result;
}

usage_row read_usage(const pqxx::row& row) {
  return {
    row[0].as<std::string>(),
    row[1].as<int64_t>(),
    row[2].as<int64_t>(),
    {row[3].as<uint64_t>(), row[4].as<uint64_t>(), row[5].as<uint64_t>()}};
}

} // namespace

void postgres_writer::step(const std::vector<slot<step_write>>& slots) {
  std::vector<const slot<step_write>*> open;
  std::vector<int64_t> seqs;
  for (const auto& x : slots) {
    if (auto no = check(x.what)) {
      x.answer = *std::move(no);
      continue;
    }
    open.push_back(&x);
    seqs.push_back(x.what.seq);
  }
  if (open.empty())
    return;
  const auto held = hold_runs(seqs);
  std::vector<const slot<step_write>*> stored;
  std::vector<int64_t> stored_seqs;
  for (const auto* x : open) {
    const auto it = held.find(x->what.seq);
    if (it == held.end() || it->second.first != x->what.run) {
      x->answer = lease_is_lost(x->what.seq, x->what.run);
    } else if (auto no = store_step(x->what)) {
      x->answer = *std::move(no);
    } else {
      stored.push_back(x);
      stored_seqs.push_back(x->what.seq);
    }
  }
  auto jobs = jobs_by_seq(stored_seqs);
  for (size_t i = 0; i < stored.size(); ++i)
    stored[i]->answer = changed{std::move(jobs[i])};
}

// Whoever stored the step stored its effects with it: they are not stored
// again, since what came later may have replaced them.
std::optional<refusal> postgres_writer::store_step(const step_write& x) {
  const auto& step = x.step;
  if (!run(has_step_sql, pqxx::params{x.seq, step.name, step.input_hash})
         .empty())
    return std::nullopt;
  std::vector<owned_effect> effects;
  for (const auto& effect : x.effects)
    effects.push_back({0, &effect});
  if (!store_effects(effects).empty())
    return target_is_gone();
  run(add_step_sql,
      pqxx::params{x.seq, x.run, step.name, step.input_hash, step.result.dump(),
                   step.provider, step.model,
                   static_cast<int64_t>(step.used.input_tokens),
                   static_cast<int64_t>(step.used.output_tokens),
                   static_cast<int64_t>(step.used.images), bounded(step.took)});
  return std::nullopt;
}

std::vector<job_step> postgres_store::steps_of(const std::string& job_id) {
  if (!is_uuid(job_id))
    return {};
  return session_.read([&](postgres_snapshot& tx) {
    return all_rows(session_.run(tx, steps_sql, pqxx::params{job_id}),
                    read_step);
  });
}

std::vector<usage_row> postgres_store::usage_between(timestamp from,
                                                     timestamp to,
                                                     usage_group by) {
  const auto first = std::clamp(from, earliest_timestamp, latest_timestamp);
  const auto last = std::clamp(to, earliest_timestamp, latest_timestamp);
  return session_.read([&](postgres_snapshot& tx) {
    auto result =
      all_rows(session_.run(tx, usage_sql(by),
                            pqxx::params{micros(first), micros(last)}),
               read_usage);
    sort_usage(result);
    return result;
  });
}

} // namespace reeve
