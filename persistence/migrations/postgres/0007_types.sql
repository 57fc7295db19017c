-- Types that somebody paused, and claims by type.

CREATE TABLE reeve.types (
  job_type text PRIMARY KEY,
  paused boolean NOT NULL,
  -- For people; empty when resumed.
  reason text NOT NULL DEFAULT '',
  since timestamptz NOT NULL DEFAULT now()
);

-- A claim looks at each of its types and priorities apart, so that jobs of
-- other types cost it nothing, however many wait.
DROP INDEX reeve.queue_claim;
CREATE INDEX queue_claim ON reeve.queue (job_type, priority, run_at, seq);
