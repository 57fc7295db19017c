-- Picture books, and who pays for them.

CREATE TABLE reeve.contents (
  id uuid PRIMARY KEY,
  -- Soft reference to the job that makes it: its status is the book's.
  job_id uuid NOT NULL UNIQUE,
  user_id text,
  title text NOT NULL,
  prompt text NOT NULL,
  page_count integer NOT NULL CHECK (page_count >= 0),
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE reeve.pages (
  content_id uuid NOT NULL REFERENCES reeve.contents ON DELETE CASCADE,
  number integer NOT NULL CHECK (number >= 1),
  text text NOT NULL,
  PRIMARY KEY (content_id, number)
);

-- Apart from the pages, so that reading a book reads no pictures.
CREATE TABLE reeve.page_images (
  content_id uuid NOT NULL,
  number integer NOT NULL,
  content_type text NOT NULL,
  digest text NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
  model text NOT NULL,
  data bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (content_id, number),
  FOREIGN KEY (content_id, number) REFERENCES reeve.pages ON DELETE CASCADE
);

-- Pictures are compressed already.
ALTER TABLE reeve.page_images ALTER COLUMN data SET STORAGE EXTERNAL;

-- What the job's user paid in advance: the end of any other job need not look
-- at the ledger.
ALTER TABLE reeve.job
  ADD COLUMN price bigint NOT NULL DEFAULT 0 CHECK (price >= 0);

-- The sum of the user's ledger, changed in the same transaction. Whoever wants
-- to charge locks the row first, so that two at once never overdraw.
CREATE TABLE reeve.accounts (
  user_id text PRIMARY KEY CHECK (user_id <> ''),
  balance bigint NOT NULL DEFAULT 0 CHECK (balance >= 0)
);

CREATE TABLE reeve.ledger (
  -- Insertion order.
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id text NOT NULL REFERENCES reeve.accounts,
  kind text NOT NULL CHECK (kind IN ('grant', 'charge', 'refund')),
  amount bigint NOT NULL,
  -- Soft reference; NULL for grants.
  job_id uuid,
  -- How often the job was charged before: a retried job is charged again.
  round integer,
  grant_id uuid UNIQUE,
  note text NOT NULL DEFAULT '',
  created_at timestamptz NOT NULL DEFAULT now(),
  -- No charge and no refund can happen twice.
  UNIQUE (job_id, kind, round),
  CHECK (CASE kind
    WHEN 'grant' THEN amount <> 0 AND grant_id IS NOT NULL AND job_id IS NULL
    WHEN 'charge' THEN amount < 0 AND job_id IS NOT NULL AND round IS NOT NULL
    ELSE amount > 0 AND job_id IS NOT NULL AND round IS NOT NULL END)
);

CREATE INDEX ledger_user ON reeve.ledger (user_id, seq);

CREATE FUNCTION reeve.refuse_ledger_change() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  RAISE EXCEPTION 'the ledger is only added to'
    USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER ledger_is_append_only
BEFORE UPDATE OR DELETE OR TRUNCATE ON reeve.ledger
FOR EACH STATEMENT EXECUTE FUNCTION reeve.refuse_ledger_change();
