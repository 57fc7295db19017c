-- 0008_bounds.sql -- priorities within what the API takes: a claim looks at
-- each type and priority apart, so there must not be many of them.

UPDATE queue SET priority = min(max(priority, -1000), 1000)
  WHERE priority NOT BETWEEN -1000 AND 1000;
UPDATE running SET priority = min(max(priority, -1000), 1000)
  WHERE priority NOT BETWEEN -1000 AND 1000;
-- Finished ones may be retried.
UPDATE job SET priority = min(max(priority, -1000), 1000)
  WHERE priority NOT BETWEEN -1000 AND 1000;

CREATE TRIGGER job_priority_range BEFORE INSERT ON job
WHEN NEW.priority NOT BETWEEN -1000 AND 1000
BEGIN
  SELECT raise(ABORT, 'priority is not within -1000 and 1000');
END;

CREATE TRIGGER queue_priority_range BEFORE INSERT ON queue
WHEN NEW.priority NOT BETWEEN -1000 AND 1000
BEGIN
  SELECT raise(ABORT, 'priority is not within -1000 and 1000');
END;

CREATE TRIGGER queue_priority_changes BEFORE UPDATE OF priority ON queue
WHEN NEW.priority NOT BETWEEN -1000 AND 1000
BEGIN
  SELECT raise(ABORT, 'priority is not within -1000 and 1000');
END;

-- Pages of failures, newest first.
CREATE INDEX job_failed_seq ON job (seq) WHERE outcome = 'FAILED';
