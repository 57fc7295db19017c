// persistence/postgres_queue.hpp -- how the queue is looked into.
#pragma once

#include "persistence/job.hpp"

#include <tuple>

namespace reeve {

/// One look-up for each type in `wanted` and priority, in ascending order and
/// only as far as needed: due jobs stand together within it, so that jobs which
/// are due later, or of other types, cost a claim nothing, however many there
/// are.
#define REEVE_PRIORITIES_OF_WANTED \
  " level(priority) AS (" \
  "   SELECT min(q.priority) FROM reeve.queue q" \
  "   WHERE q.job_type = wanted.job_type" \
  "   UNION ALL" \
  "   SELECT (SELECT min(q.priority) FROM reeve.queue q" \
  "           WHERE q.job_type = wanted.job_type" \
  "             AND q.priority > level.priority)" \
  "   FROM level WHERE level.priority IS NOT NULL) "

/// A row for each type in `wanted` and priority: whether a job is due, and when
/// the next one will be.
#define REEVE_DUE_OF_WANTED \
  " wanted CROSS JOIN LATERAL (" \
  "   WITH RECURSIVE" REEVE_PRIORITIES_OF_WANTED "   SELECT" \
  "     EXISTS (SELECT FROM reeve.queue q" \
  "             WHERE q.job_type = wanted.job_type" \
  "               AND q.priority = level.priority" \
  "               AND q.run_at <= now()) AS due," \
  "     (SELECT min(q.run_at) FROM reeve.queue q" \
  "      WHERE q.job_type = wanted.job_type AND q.priority = level.priority" \
  "        AND q.run_at > now()) AS next" \
  "   FROM level WHERE level.priority IS NOT NULL) "

/// Which of the types in a parameter are paused; NULL: none.
#define REEVE_PAUSED_OF(types) \
  " (SELECT array_agg(p.job_type) FROM reeve.types p" \
  "  WHERE p.paused AND p.job_type = ANY(" types "::text[])) "

/// The order in which jobs are claimed.
inline bool is_claimed_before(const job& x, const job& y) {
  return std::tuple{x.priority, x.run_at, x.seq}
  < std::tuple{y.priority, y.run_at, y.seq};
}

} // namespace reeve
