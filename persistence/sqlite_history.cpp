// persistence/sqlite_history.cpp -- old jobs go.
#include "persistence/sqlite_rows.hpp"
#include "persistence/sqlite_writer.hpp"
#include "persistence/store_rules.hpp"

namespace reeve {

namespace {

constexpr const char* page_sql = R"(
  SELECT seq, created_at, finished_at FROM job
  WHERE job_type = ? AND seq > ? ORDER BY seq LIMIT ?)";

constexpr const char* delete_job_sql = R"(
  DELETE FROM job WHERE seq = ?
    AND (outcome = 'COMPLETED' OR NOT EXISTS (
      SELECT 1 FROM contents WHERE job_id = job.id)))";

} // namespace

// Jobs are created in the order of `seq`: behind a page whose last one is young
// all are.
write_answer sqlite_writer::on(const prune_write& x, bool) {
  if (auto no = check(x))
    return *std::move(no);
  constexpr std::chrono::milliseconds thousand_years{31'556'952'000'000};
  const auto before = now_ - std::min(x.older_than, thousand_years);
  std::vector<int64_t> old;
  pruned result;
  uint32_t seen = 0;
  {
    sqlite_query query{db_.prepared(page_sql)};
    query.bind(x.type, x.after_seq, int64_t{x.limit});
    while (query.next()) {
      const auto seq = query.integer(0);
      const auto ended = query.maybe_time(2);
      if (ended && *ended < before)
        old.push_back(seq);
      result.next_after_seq.reset();
      if (++seen == x.limit && *query.maybe_time(1) < before)
        result.next_after_seq = seq;
    }
  }
  for (auto seq : old) {
    sqlite_query query{db_.prepared(delete_job_sql)};
    result.jobs += static_cast<uint32_t>(query.bind(seq).run());
  }
  return result;
}

} // namespace reeve
