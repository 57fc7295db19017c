-- 0001_jobs.sql -- the job model. Times are integer microseconds since the
-- epoch, UTC. The state of an unfinished job is the table it stands in.

CREATE TABLE job (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 36 AND id = lower(id)),
  job_type TEXT NOT NULL CHECK (job_type <> ''),
  target_id TEXT NOT NULL CHECK (target_id <> ''),
  user_id TEXT,
  payload TEXT NOT NULL CHECK (typeof(payload) = 'text'),
  priority INTEGER NOT NULL DEFAULT 0 CHECK (typeof(priority) = 'integer'),
  run_at INTEGER NOT NULL CHECK (typeof(run_at) = 'integer'),
  result TEXT,
  error_message TEXT,
  outcome TEXT CHECK (outcome IN ('COMPLETED', 'FAILED', 'CANCELLED')),
  attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  max_attempts INTEGER NOT NULL DEFAULT 3 CHECK (max_attempts >= 1),
  run INTEGER NOT NULL DEFAULT 0 CHECK (run >= 0),
  throttled INTEGER NOT NULL DEFAULT 0,
  provider_down INTEGER NOT NULL DEFAULT 0,
  interrupted INTEGER NOT NULL DEFAULT 0,
  progress_percent INTEGER NOT NULL DEFAULT 0,
  progress_message TEXT NOT NULL DEFAULT '',
  unique_key TEXT,
  idempotency_key TEXT,
  idempotency_hash TEXT,
  version INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL CHECK (typeof(created_at) = 'integer'),
  started_at INTEGER,
  finished_at INTEGER,
  updated_at INTEGER NOT NULL CHECK (typeof(updated_at) = 'integer'),
  CHECK ((outcome IS NULL) = (finished_at IS NULL))
);

CREATE UNIQUE INDEX job_unique_key ON job (unique_key)
  WHERE outcome IS NULL AND unique_key IS NOT NULL;
CREATE UNIQUE INDEX job_idempotency_key ON job (idempotency_key)
  WHERE idempotency_key IS NOT NULL;
CREATE INDEX job_by_user ON job (user_id, seq) WHERE user_id IS NOT NULL;
CREATE INDEX job_by_target ON job (target_id, seq);
CREATE INDEX job_by_type ON job (job_type, seq);
CREATE INDEX job_by_outcome ON job (outcome, seq)
  WHERE outcome IN ('FAILED', 'CANCELLED');

-- What waits. Claiming deletes here and inserts into `running`.
CREATE TABLE queue (
  seq INTEGER PRIMARY KEY REFERENCES job (seq) ON DELETE CASCADE,
  job_type TEXT NOT NULL,
  priority INTEGER NOT NULL CHECK (typeof(priority) = 'integer'),
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

CREATE INDEX queue_claim ON queue (priority, run_at, seq);
-- When the next job is due, without a walk over all that is not.
CREATE INDEX queue_due ON queue (run_at);

-- Who runs what. Heartbeats and progress touch only this narrow row.
CREATE TABLE running (
  seq INTEGER PRIMARY KEY REFERENCES job (seq) ON DELETE CASCADE,
  job_type TEXT NOT NULL,
  priority INTEGER NOT NULL,
  run_at INTEGER NOT NULL,
  run INTEGER NOT NULL CHECK (run >= 1),
  attempts INTEGER NOT NULL,
  throttled INTEGER NOT NULL,
  provider_down INTEGER NOT NULL,
  interrupted INTEGER NOT NULL,
  lease_owner TEXT NOT NULL CHECK (instr(lease_owner, '#') > 1),
  lease_until INTEGER NOT NULL CHECK (typeof(lease_until) = 'integer'),
  claim_token INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  progress_percent INTEGER NOT NULL DEFAULT 0
    CHECK (progress_percent BETWEEN 0 AND 100),
  progress_message TEXT NOT NULL DEFAULT '',
  cancel_requested INTEGER NOT NULL DEFAULT 0
    CHECK (cancel_requested IN (0, 1)),
  version INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);

CREATE INDEX running_by_owner ON running (lease_owner, claim_token);

-- One row for each run that did not end in COMPLETED.
CREATE TABLE job_attempts (
  seq INTEGER NOT NULL REFERENCES job (seq) ON DELETE CASCADE,
  run INTEGER NOT NULL,
  node TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  error TEXT NOT NULL,
  decision TEXT NOT NULL,
  why TEXT NOT NULL,
  next_run_at INTEGER,
  PRIMARY KEY (seq, run)
) WITHOUT ROWID;

-- For people and SQL: one row a job with one `status`.
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
      AS updated_at
  FROM job j
  LEFT JOIN queue q ON q.seq = j.seq
  LEFT JOIN running r ON r.seq = j.seq;

-- Finished jobs by type, so that statistics need not walk millions of rows.
CREATE TABLE finished_counts (
  job_type TEXT NOT NULL,
  outcome TEXT NOT NULL,
  jobs INTEGER NOT NULL,
  PRIMARY KEY (job_type, outcome)
) WITHOUT ROWID;

CREATE TRIGGER job_finished AFTER UPDATE OF outcome ON job
WHEN OLD.outcome IS NULL AND NEW.outcome IS NOT NULL
BEGIN
  INSERT INTO finished_counts VALUES (NEW.job_type, NEW.outcome, 1)
    ON CONFLICT (job_type, outcome) DO UPDATE SET jobs = jobs + 1;
END;

CREATE TRIGGER job_unfinished AFTER UPDATE OF outcome ON job
WHEN OLD.outcome IS NOT NULL AND NEW.outcome IS NULL
BEGIN
  UPDATE finished_counts SET jobs = jobs - 1
    WHERE job_type = OLD.job_type AND outcome = OLD.outcome;
END;

CREATE TRIGGER job_deleted AFTER DELETE ON job
WHEN OLD.outcome IS NOT NULL
BEGIN
  UPDATE finished_counts SET jobs = jobs - 1
    WHERE job_type = OLD.job_type AND outcome = OLD.outcome;
END;
