-- 0010_trace.sql -- a job belongs to the trace of who enqueued it (W3C Trace
-- Context). NULL for most jobs.

ALTER TABLE job ADD COLUMN traceparent TEXT;
ALTER TABLE job ADD COLUMN tracestate TEXT;

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
    j.input_tokens, j.output_tokens, j.images, j.fingerprint,
    j.traceparent, j.tracestate
  FROM job j
  LEFT JOIN queue q ON q.seq = j.seq
  LEFT JOIN running r ON r.seq = j.seq;
