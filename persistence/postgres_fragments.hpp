// persistence/postgres_fragments.hpp -- what several statements do alike.
#pragma once

/// A row for each new job. Those whose id or key is taken are left out, also
/// when their holder is earlier in the same statement or in a transaction that
/// we wait for.
#define REEVE_NEW_JOB \
  " new_job AS (" \
  "   INSERT INTO reeve.job (id, job_type, target_id, user_id, payload," \
  "     priority, run_at, max_attempts, unique_key, idempotency_key," \
  "     idempotency_hash, price, traceparent, tracestate)" \
  "   SELECT id, job_type, target_id, user_id, payload::jsonb, priority," \
  "     coalesce(reeve.instant(run_at), now()), max_attempts, unique_key," \
  "     idempotency_key, idempotency_hash, price, traceparent, tracestate" \
  "   FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[]," \
  "     $6::int[], $7::bigint[], $8::int[], $9::text[], $10::text[]," \
  "     $11::text[], $12::bigint[], $13::text[], $14::text[])" \
  "     WITH ORDINALITY AS t(id, job_type, target_id, user_id, payload," \
  "       priority, run_at, max_attempts, unique_key, idempotency_key," \
  "       idempotency_hash, price, traceparent, tracestate, position)" \
  "   ORDER BY position" \
  "   ON CONFLICT DO NOTHING" \
  "   RETURNING seq, id, job_type, priority, run_at, created_at)"

/// Ends runs that succeeded: `ended` deletes what still runs as claimed, and
/// what is not in it does not. The arguments name the parameters.
#define REEVE_ENDED_RUNS(seqs, runs, results) \
  " ended AS (" \
  "   DELETE FROM reeve.running r" \
  "   USING unnest(" seqs "::bigint[], " runs "::bigint[], " results \
  "::text[])" \
  "     AS t(seq, run, result)" \
  "   WHERE r.seq = ANY(ARRAY[t.seq]) AND r.run = t.run" \
  "   RETURNING r.seq, r.job_type, r.run_at, r.run, r.attempts, r.throttled," \
  "     r.provider_down, r.interrupted, r.version, r.started_at, t.result)," \
  " counted AS (" \
  "   INSERT INTO reeve.finished_counts (job_type, outcome, jobs)" \
  "   SELECT job_type, 'COMPLETED', count(*) FROM ended GROUP BY job_type)"

/// Completes the jobs of `ended`.
#define REEVE_COMPLETE_ENDED \
  " UPDATE reeve.job j SET outcome = 'COMPLETED'," \
  "   result = e.result::jsonb, error_message = NULL," \
  "   attempts = e.attempts, run = e.run, throttled = e.throttled," \
  "   provider_down = e.provider_down, interrupted = e.interrupted," \
  "   version = e.version + 1, run_at = e.run_at," \
  "   started_at = e.started_at," \
  "   finished_at = greatest(now(), e.started_at)," \
  "   updated_at = greatest(now(), e.started_at), fingerprint = NULL" \
  " FROM ended e WHERE j.seq = ANY(ARRAY[e.seq])" \
  " RETURNING j.seq, j.run, j.version, j.finished_at, j.input_tokens," \
  "   j.output_tokens, j.images"
