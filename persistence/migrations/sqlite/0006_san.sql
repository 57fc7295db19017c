-- 0006_san.sql -- what TIL_GENERATION and RECALL_GENERATION work on and make.
-- References are soft: what they name may be deleted.

CREATE INDEX knowledge_cards_by_user
  ON knowledge_cards (user_id, created_at, seq);

CREATE TABLE daily_summaries (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 36 AND id = lower(id)),
  user_id TEXT,
  -- In the time zone.
  date TEXT NOT NULL CHECK (length(date) = 10),
  time_zone TEXT NOT NULL CHECK (time_zone <> ''),
  day_start INTEGER NOT NULL CHECK (typeof(day_start) = 'integer'),
  day_end INTEGER NOT NULL CHECK (typeof(day_end) = 'integer'),
  created_at INTEGER NOT NULL CHECK (typeof(created_at) = 'integer'),
  CHECK (day_start < day_end)
);

-- One a day, also for nobody.
CREATE UNIQUE INDEX daily_summaries_day
  ON daily_summaries (coalesce(user_id, ''), date, time_zone);

-- `card_ids` is a JSON array of texts.
CREATE TABLE til_entries (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 36 AND id = lower(id)),
  daily_summary_id TEXT NOT NULL,
  -- A job stores one entry, however often it runs.
  job_id TEXT NOT NULL UNIQUE,
  user_id TEXT,
  content TEXT NOT NULL,
  card_ids TEXT NOT NULL,
  model TEXT NOT NULL,
  created_at INTEGER NOT NULL CHECK (typeof(created_at) = 'integer')
);

CREATE INDEX til_entries_by_summary ON til_entries (daily_summary_id, seq);

-- `related`: [{"card_id": …, "similarity": …}, …], most similar first.
CREATE TABLE recalls (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 36 AND id = lower(id)),
  daily_summary_id TEXT NOT NULL,
  -- A job stores one recall, however often it runs.
  job_id TEXT NOT NULL UNIQUE,
  user_id TEXT,
  content TEXT NOT NULL,
  related TEXT NOT NULL,
  model TEXT NOT NULL,
  created_at INTEGER NOT NULL CHECK (typeof(created_at) = 'integer')
);

CREATE INDEX recalls_by_summary ON recalls (daily_summary_id, seq);
