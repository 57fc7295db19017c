-- 0007_books.sql -- picture books, and who pays for them.

CREATE TABLE contents (
  id TEXT PRIMARY KEY NOT NULL CHECK (length(id) = 36 AND id = lower(id)),
  -- Soft reference to the job that makes it: its status is the book's.
  job_id TEXT NOT NULL UNIQUE,
  user_id TEXT,
  title TEXT NOT NULL,
  prompt TEXT NOT NULL,
  page_count INTEGER NOT NULL CHECK (page_count >= 0),
  created_at INTEGER NOT NULL CHECK (typeof(created_at) = 'integer')
);

CREATE TABLE pages (
  content_id TEXT NOT NULL REFERENCES contents (id) ON DELETE CASCADE,
  number INTEGER NOT NULL CHECK (number >= 1),
  text TEXT NOT NULL,
  PRIMARY KEY (content_id, number)
) WITHOUT ROWID;

-- Apart from the pages, so that reading a book reads no pictures. `data` comes
-- last: what stands before it is read without it.
CREATE TABLE page_images (
  content_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  content_type TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  digest TEXT NOT NULL CHECK (length(digest) = 64),
  model TEXT NOT NULL,
  created_at INTEGER NOT NULL CHECK (typeof(created_at) = 'integer'),
  data BLOB NOT NULL CHECK (
    typeof(data) = 'blob' AND length(data) = bytes),
  PRIMARY KEY (content_id, number),
  FOREIGN KEY (content_id, number) REFERENCES pages ON DELETE CASCADE
);

-- What the job's user paid in advance: the end of any other job need not look
-- at the ledger.
ALTER TABLE job ADD COLUMN price INTEGER NOT NULL DEFAULT 0
  CHECK (price >= 0);

-- The sum of the user's ledger, changed in the same transaction.
CREATE TABLE accounts (
  user_id TEXT PRIMARY KEY NOT NULL CHECK (user_id <> ''),
  balance INTEGER NOT NULL DEFAULT 0
    CHECK (typeof(balance) = 'integer' AND balance >= 0)
);

CREATE TABLE ledger (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id TEXT NOT NULL REFERENCES accounts (user_id),
  kind TEXT NOT NULL CHECK (kind IN ('grant', 'charge', 'refund')),
  amount INTEGER NOT NULL CHECK (typeof(amount) = 'integer'),
  -- Soft reference; NULL for grants.
  job_id TEXT,
  -- How often the job was charged before: a retried job is charged again.
  round INTEGER,
  grant_id TEXT UNIQUE,
  note TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL CHECK (typeof(created_at) = 'integer'),
  -- No charge and no refund can happen twice.
  UNIQUE (job_id, kind, round),
  CHECK (CASE kind
    WHEN 'grant' THEN amount <> 0 AND grant_id IS NOT NULL AND job_id IS NULL
    WHEN 'charge' THEN amount < 0 AND job_id IS NOT NULL AND round IS NOT NULL
    ELSE amount > 0 AND job_id IS NOT NULL AND round IS NOT NULL END)
);

CREATE INDEX ledger_by_user ON ledger (user_id, seq);

CREATE TRIGGER ledger_keeps_lines BEFORE UPDATE ON ledger
BEGIN
  SELECT raise(ABORT, 'the ledger is only added to');
END;

CREATE TRIGGER ledger_loses_no_line BEFORE DELETE ON ledger
BEGIN
  SELECT raise(ABORT, 'the ledger is only added to');
END;
