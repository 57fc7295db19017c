// persistence/postgres_writer.cpp -- a batch by kinds of writes.
#include "persistence/postgres_writer.hpp"

#include "persistence/postgres_rows.hpp"

#include <algorithm>
#include <unordered_map>

namespace reeve {

namespace {

constexpr postgres_statement jobs_by_seq_sql{
  "jobs_by_seq",
  "SELECT" REEVE_POSTGRES_JOB_COLUMNS
  "FROM reeve.jobs WHERE seq = ANY($1::bigint[])"};

} // namespace

void postgres_writer::apply(std::span<const postgres_item> items) {
  hold_accounts(items);
  starter_ = starter_of(items);
  enqueue(pick<enqueue_write>(items), pick<enqueue_batch_write>(items));
  progress(pick<progress_write>(items));
  step(pick<step_write>(items));
  for (const auto& x : pick<heartbeat_write>(items))
    heartbeat(x);
  settle(pick<settle_write>(items));
  cancel(pick<cancel_write>(items));
  // Before a retry, which takes the price again.
  refund();
  retry(pick<retry_write>(items));
  for (const auto& x : pick<bulk_retry_write>(items))
    bulk_retry(x);
  for (const auto& x : pick<rescue_write>(items))
    rescue(x);
  refund();
  for (const auto& x : pick<prune_write>(items))
    prune(x);
  delete_scraps(pick<delete_scrap_write>(items));
  for (const auto& x : pick<pause_write>(items))
    pause(x);
  for (const auto& x : pick<summary_write>(items))
    add_summary(x);
  for (const auto& x : pick<grant_write>(items))
    grant(x);
  for (const auto& x : pick<claim_write>(items))
    if (!starter_ || !starter_->is_answered)
      claim(x);
}

std::vector<job> postgres_writer::jobs_by_seq(
  const std::vector<int64_t>& seqs) {
  std::vector<job> result;
  if (seqs.empty())
    return result;
  std::unordered_map<int64_t, job> found;
  found.reserve(seqs.size());
  for (const auto& row : run(jobs_by_seq_sql, pqxx::params{seqs})) {
    auto x = read_job(row);
    const auto seq = x.seq;
    found.emplace(seq, std::move(x));
  }
  result.reserve(seqs.size());
  for (auto seq : seqs)
    result.push_back(found.at(seq));
  return result;
}

int64_t bounded(std::chrono::milliseconds x) {
  constexpr int64_t thousand_years = 31'556'952'000'000;
  return std::clamp<int64_t>(x.count(), 0, thousand_years);
}

} // namespace reeve
