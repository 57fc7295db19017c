-- Parts of jobs that are done and paid for, what they cost, and failures by
-- what they have in common.

-- One row for each part of a job that no later run does again.
CREATE TABLE reeve.job_steps (
  -- Insertion order.
  position bigint GENERATED ALWAYS AS IDENTITY,
  seq bigint NOT NULL REFERENCES reeve.job ON DELETE CASCADE,
  name text NOT NULL CHECK (name <> ''),
  input_hash text NOT NULL,
  result jsonb NOT NULL,
  provider text NOT NULL,
  model text NOT NULL,
  input_tokens bigint NOT NULL CHECK (input_tokens >= 0),
  output_tokens bigint NOT NULL CHECK (output_tokens >= 0),
  images bigint NOT NULL CHECK (images >= 0),
  took_ms bigint NOT NULL,
  run bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (seq, name, input_hash)
);

CREATE INDEX job_steps_created ON reeve.job_steps (created_at);

-- Of all steps of the job; and what a FAILED job's message has in common with
-- others, NULL in every other state.
ALTER TABLE reeve.job
  ADD COLUMN input_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN output_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN images bigint NOT NULL DEFAULT 0,
  ADD COLUMN fingerprint text;

-- Failed jobs only, by columns that a successful end leaves NULL: it stays a
-- heap-only update.
CREATE INDEX job_fingerprint ON reeve.job (fingerprint, failed_at, seq)
  WHERE failed_at IS NOT NULL;
-- Pages of failures, newest first.
CREATE INDEX job_failed_seq ON reeve.job (seq) WHERE failed_at IS NOT NULL;

CREATE OR REPLACE VIEW reeve.jobs AS
SELECT
  j.seq, j.id, j.job_type,
  CASE WHEN j.outcome IS NOT NULL THEN j.outcome
       WHEN r.seq IS NOT NULL THEN 'PROCESSING'
       ELSE 'PENDING' END AS status,
  j.target_id, j.user_id, j.payload, j.result,
  CASE WHEN j.outcome = 'COMPLETED' THEN 100
       ELSE coalesce(r.progress_percent, 0) END AS progress_percent,
  coalesce(r.progress_message, '') AS progress_message,
  j.error_message,
  coalesce(r.attempts, q.attempts, j.attempts) AS attempts,
  j.max_attempts, j.priority, j.unique_key,
  coalesce(r.run_at, q.run_at, j.run_at) AS run_at,
  coalesce(q.reason, '') AS reason,
  coalesce(r.cancel_requested, false) AS cancel_requested,
  coalesce(r.throttled, q.throttled, j.throttled) AS throttled,
  coalesce(r.provider_down, q.provider_down, j.provider_down)
    AS provider_down,
  coalesce(r.interrupted, q.interrupted, j.interrupted) AS interrupted,
  coalesce(r.version, q.version, j.version) AS version,
  coalesce(r.run, q.run, j.run) AS run,
  r.lease_owner, r.lease_until,
  j.created_at,
  coalesce(r.started_at, j.started_at) AS started_at,
  j.finished_at,
  coalesce(r.updated_at, q.updated_at, j.updated_at) AS updated_at,
  j.idempotency_key, j.idempotency_hash,
  j.input_tokens, j.output_tokens, j.images, j.fingerprint
FROM reeve.job j
LEFT JOIN reeve.queue q ON q.seq = j.seq
LEFT JOIN reeve.running r ON r.seq = j.seq;
