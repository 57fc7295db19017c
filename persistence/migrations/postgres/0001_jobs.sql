-- The job model. The state of an unfinished job is the table it stands in:
-- queue = PENDING, running = PROCESSING; a finished one is only in job.

-- Instants travel as microseconds since the epoch. Seconds and the rest are
-- converted apart: together they exceed what double precision holds exactly.
-- STABLE, as the operators below are, so that calls are inlined.
CREATE FUNCTION reeve.micros(instant timestamptz) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
  SELECT extract(epoch FROM date_trunc('second', instant))::bigint * 1000000
    + extract(microseconds FROM instant)::bigint % 1000000
$$;

CREATE FUNCTION reeve.instant(micros bigint) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
  SELECT 'epoch'::timestamptz + (micros / 1000000) * interval '1 second'
    + (micros % 1000000) * interval '1 microsecond'
$$;

CREATE TABLE reeve.job (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id uuid NOT NULL UNIQUE,
  job_type text NOT NULL CHECK (job_type <> ''),
  -- Soft reference: no foreign key, so a new job type needs no schema change.
  target_id text NOT NULL CHECK (target_id <> ''),
  user_id text,
  payload jsonb NOT NULL DEFAULT '{}',
  result jsonb,
  error_message text,
  outcome text CHECK (outcome IN ('COMPLETED', 'FAILED', 'CANCELLED')),
  attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  max_attempts integer NOT NULL DEFAULT 3 CHECK (max_attempts >= 1),
  -- The last run that ended; never given back.
  run bigint NOT NULL DEFAULT 0,
  priority integer NOT NULL DEFAULT 0,
  run_at timestamptz NOT NULL,
  throttled integer NOT NULL DEFAULT 0,
  provider_down integer NOT NULL DEFAULT 0,
  interrupted integer NOT NULL DEFAULT 0,
  unique_key text,
  idempotency_key text,
  idempotency_hash text,
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  finished_at timestamptz,
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- Indexed columns that a successful end leaves as they are, so that it
  -- writes no index entry (a heap-only update); a partial index on outcome
  -- would cost one in every index of the table.
  active_key text GENERATED ALWAYS AS
    (CASE WHEN outcome IS NULL THEN unique_key END) STORED,
  failed_at timestamptz GENERATED ALWAYS AS
    (CASE WHEN outcome = 'FAILED' THEN finished_at END) STORED,
  CHECK ((outcome IS NULL) = (finished_at IS NULL))
) WITH (fillfactor = 80);

CREATE UNIQUE INDEX job_active_key ON reeve.job (active_key)
  WHERE active_key IS NOT NULL;
CREATE UNIQUE INDEX job_idempotency_key ON reeve.job (idempotency_key)
  WHERE idempotency_key IS NOT NULL;
CREATE INDEX job_user ON reeve.job (user_id, seq) WHERE user_id IS NOT NULL;
CREATE INDEX job_target ON reeve.job (target_id, seq);
CREATE INDEX job_type_created ON reeve.job (job_type, created_at, seq);
CREATE INDEX job_failed ON reeve.job (failed_at, seq)
  WHERE failed_at IS NOT NULL;

CREATE TABLE reeve.queue (
  seq bigint PRIMARY KEY REFERENCES reeve.job ON DELETE CASCADE,
  job_type text NOT NULL,
  priority integer NOT NULL,
  -- Years that RFC 3339 can write; also refuses infinity.
  run_at timestamptz NOT NULL CHECK (run_at >= '0001-01-01 00:00:00+00'
                                     AND run_at < '10000-01-01 00:00:00+00'),
  reason text NOT NULL DEFAULT '',
  run bigint NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  throttled integer NOT NULL DEFAULT 0,
  provider_down integer NOT NULL DEFAULT 0,
  interrupted integer NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 1,
  updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX queue_claim ON reeve.queue (priority, run_at, seq);

CREATE TABLE reeve.running (
  seq bigint PRIMARY KEY REFERENCES reeve.job ON DELETE CASCADE,
  job_type text NOT NULL,
  priority integer NOT NULL,
  run_at timestamptz NOT NULL,
  run bigint NOT NULL,
  attempts integer NOT NULL,
  throttled integer NOT NULL,
  provider_down integer NOT NULL,
  interrupted integer NOT NULL,
  -- node#incarnation
  lease_owner text NOT NULL CHECK (lease_owner LIKE '_%#_%'),
  lease_until timestamptz NOT NULL,
  claim_token bigint NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  progress_percent integer NOT NULL DEFAULT 0
    CHECK (progress_percent BETWEEN 0 AND 100),
  progress_message text NOT NULL DEFAULT '',
  cancel_requested boolean NOT NULL DEFAULT false,
  version bigint NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- Small tables with a high turnover: vacuum by dead rows, not by share.
ALTER TABLE reeve.queue SET (autovacuum_vacuum_scale_factor = 0.01,
                             autovacuum_vacuum_threshold = 1000,
                             autovacuum_vacuum_cost_delay = 0);
ALTER TABLE reeve.running SET (autovacuum_vacuum_scale_factor = 0.01,
                               autovacuum_vacuum_threshold = 1000,
                               autovacuum_vacuum_cost_delay = 0);

-- One row for each run that did not end in COMPLETED.
CREATE TABLE reeve.job_attempts (
  seq bigint NOT NULL REFERENCES reeve.job ON DELETE CASCADE,
  run bigint NOT NULL,
  node text NOT NULL,
  started_at timestamptz NOT NULL,
  finished_at timestamptz NOT NULL,
  outcome text NOT NULL,
  error text NOT NULL,
  decision text NOT NULL,
  why text NOT NULL,
  next_run_at timestamptz,
  PRIMARY KEY (seq, run)
);

-- One row a job with its status, for people and SQL.
CREATE VIEW reeve.jobs AS
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
  j.idempotency_key, j.idempotency_hash
FROM reeve.job j
LEFT JOIN reeve.queue q ON q.seq = j.seq
LEFT JOIN reeve.running r ON r.seq = j.seq;
