-- Enqueueing from SQL, inside the caller's own transaction.

-- UUIDv7 (RFC 9562): 48 bits of Unix milliseconds over a random UUIDv4, whose
-- variant bits stay and whose version nibble becomes 7.
CREATE FUNCTION reeve.uuid_v7() RETURNS uuid
LANGUAGE sql VOLATILE
AS $$
  SELECT encode(
    set_byte(
      overlay(uuid_send(gen_random_uuid())
              PLACING substring(int8send(
                floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)
                FROM 3)
              FROM 1 FOR 6),
      6, 112 + floor(random() * 16)::integer),
    'hex')::uuid
$$;

-- Adds a job and returns its id; with a unique_key that an unfinished job
-- holds, returns that job's id and adds nothing.
CREATE FUNCTION reeve.enqueue(
  job_type text,
  target_id text,
  payload jsonb DEFAULT '{}',
  priority integer DEFAULT 0,
  run_at timestamptz DEFAULT now(),
  max_attempts integer DEFAULT 3,
  unique_key text DEFAULT NULL,
  user_id text DEFAULT NULL
) RETURNS uuid
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  new_seq bigint;
  new_id uuid;
BEGIN
  LOOP
    INSERT INTO reeve.job (id, job_type, target_id, payload, priority, run_at,
                           max_attempts, unique_key, user_id)
    VALUES (reeve.uuid_v7(), enqueue.job_type, enqueue.target_id,
            coalesce(enqueue.payload, '{}'), coalesce(enqueue.priority, 0),
            coalesce(enqueue.run_at, now()), coalesce(enqueue.max_attempts, 3),
            enqueue.unique_key, enqueue.user_id)
    ON CONFLICT DO NOTHING
    RETURNING seq, id INTO new_seq, new_id;
    IF FOUND THEN
      INSERT INTO reeve.queue (seq, job_type, priority, run_at)
      SELECT j.seq, j.job_type, j.priority, j.run_at
      FROM reeve.job j WHERE j.seq = new_seq;
      -- Equal notifications of one transaction are merged.
      PERFORM pg_notify('reeve_queue', '');
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
