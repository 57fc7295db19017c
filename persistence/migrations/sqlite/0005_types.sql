-- 0005_types.sql -- types that somebody paused, and claims by type.

CREATE TABLE types (
  job_type TEXT PRIMARY KEY NOT NULL CHECK (job_type <> ''),
  paused INTEGER NOT NULL CHECK (paused IN (0, 1)),
  -- For people; empty when resumed.
  reason TEXT NOT NULL DEFAULT '',
  since INTEGER NOT NULL CHECK (typeof(since) = 'integer')
);

-- A claim looks at each of its types and priorities apart, so that jobs of
-- other types cost it nothing, however many wait.
DROP INDEX queue_claim;
CREATE INDEX queue_claim ON queue (job_type, priority, run_at, seq);
