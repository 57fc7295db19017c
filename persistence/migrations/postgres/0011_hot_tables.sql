-- A claim and an end of a run cost less: no foreign keys where jobs come and go,
-- room for every end beside its record, smaller indexes.

-- In the order in which an enqueue takes them.
LOCK TABLE reeve.job, reeve.queue, reeve.running IN ACCESS EXCLUSIVE MODE;

-- A look-up and a lock of the record for each row, at each claim and each end.
-- Instead, a job that is deleted takes its rows along (below), and a claim
-- joins the record: it cannot start what has none.
ALTER TABLE reeve.queue DROP CONSTRAINT IF EXISTS queue_seq_fkey;
ALTER TABLE reeve.running DROP CONSTRAINT IF EXISTS running_seq_fkey;

-- In this order a job that moves meanwhile is found: it leaves `queue` for
-- `running`, and who puts it back writes to its record, which is ours by now.
CREATE OR REPLACE FUNCTION reeve.uncount_deleted() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  DELETE FROM reeve.queue WHERE seq IN
    (SELECT d.seq FROM deleted d WHERE d.outcome IS NULL);
  DELETE FROM reeve.running WHERE seq IN
    (SELECT d.seq FROM deleted d WHERE d.outcome IS NULL);
  INSERT INTO reeve.finished_counts (job_type, outcome, jobs)
  SELECT d.job_type, d.outcome, -count(*) FROM deleted d
  WHERE d.outcome IS NOT NULL GROUP BY d.job_type, d.outcome;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION reeve.forget_truncated() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  DELETE FROM reeve.queue;
  DELETE FROM reeve.running;
  DELETE FROM reeve.finished_counts;
  RETURN NULL;
END
$$;

DROP TRIGGER IF EXISTS job_truncated ON reeve.job;
CREATE TRIGGER job_truncated AFTER TRUNCATE ON reeve.job
FOR EACH STATEMENT EXECUTE FUNCTION reeve.forget_truncated();

-- Replaced below.
DROP INDEX IF EXISTS reeve.job_target, reeve.job_type_created;
ALTER TABLE reeve.job_attempts
  DROP CONSTRAINT IF EXISTS job_attempts_seq_fkey;
ALTER TABLE reeve.job_steps DROP CONSTRAINT IF EXISTS job_steps_seq_fkey;
ALTER TABLE reeve.job DROP CONSTRAINT IF EXISTS job_pkey;
ALTER TABLE reeve.queue DROP CONSTRAINT IF EXISTS queue_pkey;

-- A successful end writes a second version of the record. Where the page has
-- room for it, no index is touched and no other page. Every job of a full page
-- ends within a few batches, before anything can be cleaned up: there must be
-- room for all of them. Of 50,000 ends in batches of 1,000 were heap-only: with
-- 80: 20 %, with 50: 93 %, with 45: all, and twice as many jobs a second.
ALTER TABLE reeve.job SET (fillfactor = 45);

-- Few are cancelled: they are listed by an index of their own, on a column that
-- a successful end leaves NULL. (This writes the table anew, with that room.)
ALTER TABLE reeve.job ADD COLUMN IF NOT EXISTS is_cancelled boolean
  GENERATED ALWAYS AS (CASE WHEN outcome = 'CANCELLED' THEN true END) STORED;
CREATE INDEX IF NOT EXISTS job_cancelled_seq ON reeve.job (seq)
  WHERE is_cancelled;

-- A hash of the target is as good to find it by, and 8 bytes whatever it is.
CREATE INDEX IF NOT EXISTS job_target_hash
  ON reeve.job (hashtextextended(target_id, 0), seq);

-- Listings are by `seq`, which is the order of creation.
CREATE INDEX IF NOT EXISTS job_type_seq ON reeve.job (job_type, seq);

-- After all other indexes: of several that seem equal the planner takes the
-- newest. In a table that was empty when it was last analyzed, as `queue` often
-- is, all seem equal to it, and another one with `seq` at its end would be read
-- from end to end for each job that is looked up.
ALTER TABLE reeve.job ADD CONSTRAINT job_pkey PRIMARY KEY (seq);
ALTER TABLE reeve.queue ADD CONSTRAINT queue_pkey PRIMARY KEY (seq);
ALTER TABLE reeve.job_attempts ADD CONSTRAINT job_attempts_seq_fkey
  FOREIGN KEY (seq) REFERENCES reeve.job ON DELETE CASCADE;
ALTER TABLE reeve.job_steps ADD CONSTRAINT job_steps_seq_fkey
  FOREIGN KEY (seq) REFERENCES reeve.job ON DELETE CASCADE;

-- `outcome` itself, so that a listing of finished jobs need not look where the
-- others stand.
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
  j.input_tokens, j.output_tokens, j.images, j.fingerprint,
  j.outcome
FROM reeve.job j
LEFT JOIN reeve.queue q ON q.seq = j.seq
LEFT JOIN reeve.running r ON r.seq = j.seq;

-- New expressions have no statistics. (An empty table must not be taken for one
-- that stays so.)
DO $$
BEGIN
  IF EXISTS (SELECT FROM reeve.job) THEN
    ANALYZE reeve.job;
  END IF;
END
$$;
