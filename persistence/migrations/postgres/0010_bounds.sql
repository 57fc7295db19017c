-- A claim looks at each type and priority apart, so there must not be many of
-- them: from SQL, too, priorities are within what the API takes.

-- In the order in which an enqueue takes them, and before the first look: a row
-- that another transaction is still adding would never be checked.
LOCK TABLE reeve.job, reeve.queue, reeve.running IN ACCESS EXCLUSIVE MODE;

UPDATE reeve.queue SET priority = least(greatest(priority, -1000), 1000)
  WHERE priority NOT BETWEEN -1000 AND 1000;
UPDATE reeve.running SET priority = least(greatest(priority, -1000), 1000)
  WHERE priority NOT BETWEEN -1000 AND 1000;
-- Finished ones may be retried.
UPDATE reeve.job SET priority = least(greatest(priority, -1000), 1000)
  WHERE priority NOT BETWEEN -1000 AND 1000;

-- Every row fits by now: no second look at all of them.
ALTER TABLE reeve.queue ADD CONSTRAINT queue_priority_range
  CHECK (priority BETWEEN -1000 AND 1000) NOT VALID;
ALTER TABLE reeve.job ADD CONSTRAINT job_priority_range
  CHECK (priority BETWEEN -1000 AND 1000) NOT VALID;

-- Failures whose fingerprint is still to be computed; soon there is none.
CREATE INDEX job_no_fingerprint ON reeve.job (seq)
  WHERE failed_at IS NOT NULL AND fingerprint IS NULL;
