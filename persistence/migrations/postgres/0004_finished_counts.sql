-- How many jobs of a type ended how, so that statistics need not walk millions
-- of rows. Each row is a difference; their sum counts. Nodes that end jobs at
-- the same time add rows and so never wait for each other.

CREATE TABLE reeve.finished_counts (
  job_type text NOT NULL,
  outcome text NOT NULL,
  jobs bigint NOT NULL
);

CREATE FUNCTION reeve.uncount_deleted() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  INSERT INTO reeve.finished_counts (job_type, outcome, jobs)
  SELECT d.job_type, d.outcome, -count(*) FROM deleted d
  WHERE d.outcome IS NOT NULL GROUP BY d.job_type, d.outcome;
  RETURN NULL;
END
$$;

CREATE TRIGGER job_deleted AFTER DELETE ON reeve.job
REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT
EXECUTE FUNCTION reeve.uncount_deleted();
