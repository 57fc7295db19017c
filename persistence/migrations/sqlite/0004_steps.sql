-- 0004_steps.sql -- parts of jobs that are done and paid for, what they cost,
-- and failures by what they have in common.

-- One row for each part of a job that no later run does again. The rowid is
-- the insertion order.
CREATE TABLE job_steps (
  seq INTEGER NOT NULL REFERENCES job (seq) ON DELETE CASCADE,
  name TEXT NOT NULL CHECK (name <> ''),
  input_hash TEXT NOT NULL,
  result TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
  output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
  images INTEGER NOT NULL CHECK (images >= 0),
  took_ms INTEGER NOT NULL,
  run INTEGER NOT NULL,
  created_at INTEGER NOT NULL CHECK (typeof(created_at) = 'integer'),
  PRIMARY KEY (seq, name, input_hash)
);

CREATE INDEX job_steps_by_time ON job_steps (created_at);

-- Of all steps of the job; and what a FAILED job's message has in common with
-- others, NULL in every other state.
ALTER TABLE job ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN images INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN fingerprint TEXT;

CREATE INDEX job_by_fingerprint ON job (fingerprint, finished_at, seq)
  WHERE outcome = 'FAILED';
CREATE INDEX job_failed_at ON job (finished_at) WHERE outcome = 'FAILED';

-- A job that has ended keeps no progress, except that a completed one is done.
UPDATE job SET progress_message = '' WHERE progress_message <> '';
UPDATE job SET progress_percent = 0
  WHERE outcome <> 'COMPLETED' AND progress_percent <> 0;

DROP VIEW jobs;
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
