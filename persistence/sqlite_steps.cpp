// persistence/sqlite_steps.cpp -- parts of jobs that are done, and their cost.
#include "persistence/sqlite_rows.hpp"
#include "persistence/sqlite_store.hpp"
#include "persistence/sqlite_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/uuid.hpp"

namespace reeve {

namespace {

constexpr const char* step_run_sql = R"(
  SELECT run FROM job_steps WHERE seq = ? AND name = ? AND input_hash = ?)";

constexpr const char* job_id_sql = "SELECT id FROM job WHERE seq = ?";

constexpr const char* insert_step_sql = R"(
  INSERT INTO job_steps (seq, name, input_hash, result, provider, model,
    input_tokens, output_tokens, images, took_ms, run, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))";

constexpr const char* add_usage_sql = R"(
  UPDATE job SET input_tokens = input_tokens + ?,
    output_tokens = output_tokens + ?, images = images + ?
  WHERE seq = ?)";

constexpr const char* touch_sql = R"(
  UPDATE running SET version = version + 1, updated_at = ? WHERE seq = ?)";

constexpr const char* steps_sql = R"(
  SELECT s.name, s.input_hash, s.result, s.provider, s.model, s.input_tokens,
    s.output_tokens, s.images, s.took_ms, s.run, s.created_at
  FROM job_steps s JOIN job j ON j.seq = s.seq
  WHERE j.id = ? ORDER BY s.rowid)";

#define REEVE_USAGE_COLUMNS \
  " count(DISTINCT s.seq), count(*), sum(s.input_tokens)," \
  " sum(s.output_tokens), sum(s.images) "
#define REEVE_USAGE_SOURCE \
  "FROM job_steps s CROSS JOIN job j ON j.seq = s.seq" \
  " WHERE s.created_at >= ? AND s.created_at < ? GROUP BY 1"

constexpr const char* usage_by_type_sql =
  "SELECT j.job_type," REEVE_USAGE_COLUMNS REEVE_USAGE_SOURCE;
constexpr const char* usage_by_user_sql =
  "SELECT coalesce(j.user_id, '')," REEVE_USAGE_COLUMNS REEVE_USAGE_SOURCE;
constexpr const char* usage_by_day_sql =
  "SELECT date(s.created_at / 1000000, 'unixepoch')," REEVE_USAGE_COLUMNS
    REEVE_USAGE_SOURCE;

const char* usage_sql(usage_group by) {
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

usage read_usage(const sqlite_query& row, int column) {
  return {static_cast<uint64_t>(row.integer(column)),
          static_cast<uint64_t>(row.integer(column + 1)),
          static_cast<uint64_t>(row.integer(column + 2))};
}

int64_t count_of(uint64_t x) {
  return static_cast<int64_t>(x);
}

} // namespace

write_answer sqlite_writer::on(const step_write& x, bool repeated) {
  if (auto no = check(x))
    return *std::move(no);
  const auto known = step_run(x);
  if (!find_run(x.seq, x.run)) {
    // The run may have ended since its step was committed.
    if (repeated && known == x.run)
      return changed_job(x.seq);
    return lease_is_lost(x.seq, x.run);
  }
  if (known)
    return changed_job(x.seq);
  std::string job_id;
  {
    sqlite_query query{db_.prepared(job_id_sql)};
    query.bind(x.seq).next();
    job_id = query.text(0);
  }
  if (!store_effects(x.effects, job_id))
    return target_is_gone();
  insert_step(x);
  sqlite_query query{db_.prepared(touch_sql)};
  query.bind(now_, x.seq).run();
  return changed_job(x.seq);
}

// The run that did the step, if it is there.
std::optional<int64_t> sqlite_writer::step_run(const step_write& x) {
  sqlite_query query{db_.prepared(step_run_sql)};
  if (!query.bind(x.seq, x.step.name, x.step.input_hash).next())
    return std::nullopt;
  return query.integer(0);
}

void sqlite_writer::insert_step(const step_write& x) {
  const auto& step = x.step;
  const auto input = count_of(step.used.input_tokens);
  const auto output = count_of(step.used.output_tokens);
  const auto images = count_of(step.used.images);
  {
    sqlite_query query{db_.prepared(insert_step_sql)};
    query.bind(x.seq, step.name, step.input_hash, step.result.dump(),
               step.provider, step.model, input, output, images,
               int64_t{step.took.count()}, x.run, now_);
    query.run();
  }
  if (step.used == usage{})
    return;
  sqlite_query query{db_.prepared(add_usage_sql)};
  query.bind(input, output, images, x.seq).run();
}

// -- reads --------------------------------------------------------------------

std::vector<job_step> sqlite_store::steps_of(const std::string& job_id) {
  std::vector<job_step> result;
  if (!is_uuid(job_id))
    return result;
  translated([&] {
    sqlite_query query{connection().prepared(steps_sql)};
    query.bind(lower_case(job_id));
    while (query.next())
      result.push_back({query.text(0), query.text(1), query.json(2),
                        query.text(3), query.text(4), read_usage(query, 5),
                        std::chrono::milliseconds{query.integer(8)},
                        query.integer(9), query.time(10)});
  });
  return result;
}

std::vector<usage_row> sqlite_store::usage_between(timestamp from, timestamp to,
                                                   usage_group by) {
  std::vector<usage_row> result;
  translated([&] {
    sqlite_query query{connection().prepared(usage_sql(by))};
    query.bind(from, to);
    while (query.next())
      result.push_back({query.text(0), query.integer(1), query.integer(2),
                        read_usage(query, 3)});
  });
  sort_usage(result);
  return result;
}

} // namespace reeve
