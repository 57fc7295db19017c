// persistence/postgres_insert.cpp -- new jobs become rows.
#include "persistence/postgres_fragments.hpp"
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"

#include <algorithm>

namespace reeve {

namespace {

constexpr postgres_statement insert_jobs_sql{"insert_jobs",
                                             "WITH" REEVE_NEW_JOB R"(,
  waiting AS (
    INSERT INTO reeve.queue (seq, job_type, priority, run_at)
    SELECT seq, job_type, priority, run_at FROM new_job)
  SELECT seq, id, run_at, created_at FROM new_job)"};

using texts = std::vector<std::string>;
using maybe_texts = std::vector<std::optional<std::string>>;

} // namespace

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
    if (!row[1].is_null())
      created.emplace(row[1].as<std::string>(), row);
  const auto first = std::ranges::find_if(
    rows, [](const pqxx::row& x) { return !x[1].is_null(); });
  std::vector<const job*> begun;
  for (auto* x : open)
    if (auto node = created.extract(lower_case(x->what.id))) {
      const auto& row = node.mapped();
      place(*x, row[0].as<int64_t>(), read_time(row[2]), read_time(row[3]));
      if (starts && row[4].as<bool>())
        begun.push_back(&std::get<enqueued>(x->result).job);
    }
  if (starts && first != rows.end())
    answer_starter(*first, begun);
}

} // namespace reeve
