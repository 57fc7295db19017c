-- A job belongs to the trace of who enqueued it (W3C Trace Context). NULL, as
-- for most jobs, takes no room in a row.
ALTER TABLE reeve.job ADD COLUMN traceparent text;
ALTER TABLE reeve.job ADD COLUMN tracestate text;

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
  j.outcome, j.traceparent, j.tracestate
FROM reeve.job j
LEFT JOIN reeve.queue q ON q.seq = j.seq
LEFT JOIN reeve.running r ON r.seq = j.seq;

-- A parameter cannot be added to a function: there are two for a moment, and
-- who may call the old one may call the new one.
CREATE FUNCTION reeve.enqueue(
  job_type text,
  target_id text,
  payload jsonb DEFAULT '{}',
  priority integer DEFAULT 0,
  run_at timestamptz DEFAULT now(),
  max_attempts integer DEFAULT 3,
  unique_key text DEFAULT NULL,
  user_id text DEFAULT NULL,
  traceparent text DEFAULT NULL
) RETURNS uuid
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  new_seq bigint;
  new_id uuid;
  new_priority integer := coalesce(enqueue.priority, 0);
  new_run_at timestamptz := coalesce(enqueue.run_at, now());
  new_trace text := NULL;
  ignored text;
BEGIN
  -- One that is not valid is none, as the standard has it.
  IF enqueue.traceparent ~
    '^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$'
  THEN
    new_trace := enqueue.traceparent;
  END IF;
  LOOP
    INSERT INTO reeve.job (id, job_type, target_id, payload, priority, run_at,
                           max_attempts, unique_key, user_id, traceparent)
    VALUES (reeve.uuid_v7(), enqueue.job_type, enqueue.target_id,
            coalesce(enqueue.payload, '{}'), new_priority, new_run_at,
            coalesce(enqueue.max_attempts, 3), enqueue.unique_key,
            enqueue.user_id, new_trace)
    ON CONFLICT DO NOTHING
    RETURNING seq, id INTO new_seq, new_id;
    IF FOUND THEN
      INSERT INTO reeve.queue (seq, job_type, priority, run_at)
      VALUES (new_seq, enqueue.job_type, new_priority, new_run_at);
      ignored := set_config('reeve.announces', 'on', true);
      RETURN new_id;
    END IF;
    SELECT j.id INTO new_id FROM reeve.job j
    WHERE j.active_key = enqueue.unique_key;
    IF FOUND THEN
      RETURN new_id;
    END IF;
    -- The holder of the key ended in between: try again.
  END LOOP;
END
$$;

DO $$
DECLARE
  before constant regprocedure := 'reeve.enqueue(text, text, jsonb, integer,
    timestamptz, integer, text, text)';
  after constant regprocedure := 'reeve.enqueue(text, text, jsonb, integer,
    timestamptz, integer, text, text, text)';
  may record;
BEGIN
  IF (SELECT proacl IS NOT NULL FROM pg_proc WHERE oid = before) THEN
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', after);
    FOR may IN
      SELECT DISTINCT a.grantee FROM pg_proc p, aclexplode(p.proacl) a
      WHERE p.oid = before AND a.privilege_type = 'EXECUTE'
    LOOP
      EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', after,
        CASE may.grantee WHEN 0 THEN 'PUBLIC'
          ELSE may.grantee::regrole::text END);
    END LOOP;
  END IF;
  EXECUTE format('DROP FUNCTION %s', before);
END
$$;
