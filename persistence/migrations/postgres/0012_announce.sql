-- Jobs of other programs wake idle nodes without holding each other up: NOTIFY
-- takes a lock on the whole server before its commit goes to the disk and keeps
-- it until that is done, so that such transactions commit one by one.

-- At the commit of a transaction that added jobs. Of several that commit at the
-- same moment one announces for all. It may be done before the others are: they
-- hold the second lock until they are, and a node that was woken looks again
-- until nobody holds it (persistence/postgres_listen.cpp). The second lock goes
-- first: whoever relies on another one's announcement holds it by then.
-- A serializable transaction may still fail: nobody may rely on it.
CREATE FUNCTION reeve.announce() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(8243106252146606083);
  IF current_setting('transaction_isolation') = 'serializable'
    OR pg_try_advisory_xact_lock(8243106252146606082)
  THEN
    PERFORM pg_notify('reeve_queue', '');
  END IF;
  RETURN NULL;
END
$$;

-- Sessions of nodes set `reeve.node`: a node announces what it leaves to others
-- by itself. `reeve.announces` is set for the rest of a transaction that
-- announces already.
CREATE CONSTRAINT TRIGGER queue_announce AFTER INSERT ON reeve.queue
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
WHEN (current_setting('reeve.node', true) IS DISTINCT FROM 'on'
  AND current_setting('reeve.announces', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION reeve.announce();

-- As before, in two thirds of the time: the version nibble of a UUIDv4 is 4,
-- and two more bits make it 7.
CREATE OR REPLACE FUNCTION reeve.uuid_v7() RETURNS uuid
LANGUAGE sql VOLATILE
AS $$
  SELECT encode(
    set_bit(
      set_bit(
        overlay(uuid_send(gen_random_uuid())
                PLACING substring(int8send(
                  floor(date_part('epoch', clock_timestamp()) * 1000)::bigint)
                  FROM 3)
                FROM 1 FOR 6),
        52, 1),
      53, 1),
    'hex')::uuid
$$;

-- As before, but for the announcement and for one look at the new row less.
CREATE OR REPLACE FUNCTION reeve.enqueue(
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
  new_priority integer := coalesce(enqueue.priority, 0);
  new_run_at timestamptz := coalesce(enqueue.run_at, now());
  ignored text;
BEGIN
  LOOP
    INSERT INTO reeve.job (id, job_type, target_id, payload, priority, run_at,
                           max_attempts, unique_key, user_id)
    VALUES (reeve.uuid_v7(), enqueue.job_type, enqueue.target_id,
            coalesce(enqueue.payload, '{}'), new_priority, new_run_at,
            coalesce(enqueue.max_attempts, 3), enqueue.unique_key,
            enqueue.user_id)
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
