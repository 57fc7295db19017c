-- 0009_hot_path.sql -- less to write for a job that is enqueued, claimed and
-- completed.

DROP VIEW jobs;

-- Triggers make SQLite keep a journal of each statement beside that of the
-- transaction, for the case that it fails half-way. The store counts finished
-- jobs itself, once a transaction, and bounds are CHECKs.
DROP TRIGGER job_finished;
DROP TRIGGER job_unfinished;
DROP TRIGGER job_priority_range;
DROP TRIGGER queue_priority_range;
DROP TRIGGER queue_priority_changes;

-- By hand it could be anything.
UPDATE job SET priority = min(max(priority, -1000), 1000)
  WHERE priority NOT BETWEEN -1000 AND 1000;

-- What a job's end adds to its row is written over `room`, so that the row
-- stays on its page. NULL once it has ended.
ALTER TABLE job ADD COLUMN room BLOB
  CHECK (priority BETWEEN -1000 AND 1000);

-- SQLite makes a table in memory of a list of three, for each row it checks,
-- and none of a list of two. A CHECK cannot be altered but in the schema's own
-- text, which changes nothing that is stored.
PRAGMA writable_schema = ON;
UPDATE sqlite_master SET sql = replace(sql,
    'CHECK (outcome IN (''COMPLETED'', ''FAILED'', ''CANCELLED''))',
    'CHECK (outcome IN (''COMPLETED'', ''FAILED'') OR outcome = ''CANCELLED'')')
  WHERE type = 'table' AND name = 'job';
PRAGMA writable_schema = RESET;

-- No query could use it: SQLite does not see that `outcome = 'CANCELLED'` is
-- within its list. FAILED has `job_failed_seq`.
DROP INDEX job_by_outcome;
CREATE INDEX job_cancelled_seq ON job (seq) WHERE outcome = 'CANCELLED';

-- Targets are random as a rule: an index over all of them dirties a page for
-- each new job. By blocks of 8,192 jobs the pages that change are few; who
-- looks for a target looks into one block after the other.
DROP INDEX job_by_target;
CREATE INDEX job_by_target ON job (seq >> 13, target_id);

-- The same columns, with the bounds, and without an index on `run_at` alone:
-- the first due job is the first one of a type and priority.
CREATE TABLE new_queue (
  seq INTEGER PRIMARY KEY REFERENCES job (seq) ON DELETE CASCADE,
  job_type TEXT NOT NULL,
  priority INTEGER NOT NULL
    CHECK (typeof(priority) = 'integer' AND priority BETWEEN -1000 AND 1000),
  run_at INTEGER NOT NULL CHECK (typeof(run_at) = 'integer'),
  reason TEXT NOT NULL DEFAULT '',
  run INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  throttled INTEGER NOT NULL DEFAULT 0,
  provider_down INTEGER NOT NULL DEFAULT 0,
  interrupted INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 1,
  updated_at INTEGER NOT NULL
);
INSERT INTO new_queue (seq, job_type, priority, run_at, reason, run, attempts,
    throttled, provider_down, interrupted, version, updated_at)
  SELECT seq, job_type, priority, run_at, reason, run, attempts, throttled,
    provider_down, interrupted, version, updated_at
  FROM queue;
DROP TABLE queue;
ALTER TABLE new_queue RENAME TO queue;
CREATE INDEX queue_claim ON queue (job_type, priority, run_at, seq);

-- Few run at a time: to walk over them costs less than an index that changes
-- with each claim and each end.
DROP INDEX running_by_owner;

CREATE VIEW jobs AS
  SELECT j.seq, j.id, j.job_type,
    CASE
      WHEN j.outcome IS NOT NULL THEN j.outcome
      WHEN r.seq IS NOT NULL THEN 'PROCESSING'
      ELSE 'PENDING'
    END AS status,
    j.target_id, j.user_id, j.payload, j.result, j.error_message,
    coalesce(r.progress_percent, j.progress_percent) AS progress_percent,
    coalesce(r.progress_message, j.progress_message) AS progress_message,
    coalesce(r.attempts, q.attempts, j.attempts) AS attempts,
    j.max_attempts, j.priority,
    coalesce(r.run_at, q.run_at, j.run_at) AS run_at,
    coalesce(q.reason, '') AS reason,
    coalesce(r.run, q.run, j.run) AS run,
    coalesce(r.throttled, q.throttled, j.throttled) AS throttled,
    coalesce(r.provider_down, q.provider_down, j.provider_down)
      AS provider_down,
    coalesce(r.interrupted, q.interrupted, j.interrupted) AS interrupted,
    j.unique_key, coalesce(r.cancel_requested, 0) AS cancel_requested,
    coalesce(r.version, q.version, j.version) AS version,
    j.created_at, coalesce(r.started_at, j.started_at) AS started_at,
    j.finished_at, coalesce(r.updated_at, q.updated_at, j.updated_at)
      AS updated_at,
    j.input_tokens, j.output_tokens, j.images, j.fingerprint
  FROM job j
  LEFT JOIN queue q ON q.seq = j.seq
  LEFT JOIN running r ON r.seq = j.seq;
