// persistence/postgres_history.cpp -- old jobs go.
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"

namespace reeve {

namespace {

// Jobs are created in the order of `seq`: behind a page whose last one is young
// all are. Nobody is waited for: what somebody holds goes with a later sweep.
constexpr postgres_statement prune_sql{"prune", R"(
  WITH page AS MATERIALIZED (
    SELECT j.seq, j.created_at FROM reeve.job j
    WHERE j.job_type = $1 AND j.seq > $2 ORDER BY j.seq LIMIT $3),
  old AS MATERIALIZED (
    SELECT j.seq FROM page p JOIN reeve.job j ON j.seq = ANY(ARRAY[p.seq])
    WHERE j.outcome IS NOT NULL
      AND j.finished_at < now() - $4::bigint * interval '1 millisecond'
      AND (j.outcome = 'COMPLETED' OR NOT EXISTS (
        SELECT FROM reeve.contents c WHERE c.job_id = j.id))
    FOR UPDATE OF j SKIP LOCKED),
  gone AS (
    DELETE FROM reeve.job j USING old WHERE j.seq = ANY(ARRAY[old.seq])
    RETURNING j.seq)
  SELECT (SELECT count(*) FROM gone),
    CASE WHEN count(*) = $3 AND (SELECT q.created_at FROM page q
        ORDER BY q.seq DESC LIMIT 1)
          < now() - $4::bigint * interval '1 millisecond'
      THEN max(p.seq) END
  FROM page p)"};

} // namespace

void postgres_writer::prune(const slot<prune_write>& x) {
  const auto& what = x.what;
  if (auto no = check(what)) {
    x.answer = *std::move(no);
    return;
  }
  const auto row =
    run(prune_sql,
        pqxx::params{what.type, what.after_seq, int64_t{what.limit},
                     bounded(what.older_than)})
      .one_row();
  pruned result;
  result.jobs = row[0].as<uint32_t>();
  if (!row[1].is_null())
    result.next_after_seq = row[1].as<int64_t>();
  x.answer = result;
}

} // namespace reeve
