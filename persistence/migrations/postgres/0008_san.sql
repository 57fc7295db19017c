-- What TIL_GENERATION and RECALL_GENERATION work on and make. References are
-- soft: what they name may be deleted.

-- Cards of one user by time; nobody's have the user ''.
CREATE INDEX knowledge_cards_user
  ON reeve.knowledge_cards (coalesce(user_id, ''), created_at, seq);

CREATE TABLE reeve.daily_summaries (
  -- Insertion order.
  seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  id uuid PRIMARY KEY,
  user_id text,
  -- In the time zone.
  date date NOT NULL,
  time_zone text NOT NULL CHECK (time_zone <> ''),
  day_start timestamptz NOT NULL,
  day_end timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK (day_start < day_end)
);

-- One a day, also for nobody.
CREATE UNIQUE INDEX daily_summaries_day
  ON reeve.daily_summaries (coalesce(user_id, ''), date, time_zone);

CREATE TABLE reeve.til_entries (
  -- Insertion order.
  seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  id uuid PRIMARY KEY,
  daily_summary_id uuid NOT NULL,
  -- A job stores one entry, however often it runs.
  job_id uuid NOT NULL UNIQUE,
  user_id text,
  content text NOT NULL,
  card_ids text[] NOT NULL,
  model text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX til_entries_summary
  ON reeve.til_entries (daily_summary_id, seq);

CREATE TABLE reeve.recalls (
  -- Insertion order.
  seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  id uuid PRIMARY KEY,
  daily_summary_id uuid NOT NULL,
  -- A job stores one recall, however often it runs.
  job_id uuid NOT NULL UNIQUE,
  user_id text,
  content text NOT NULL,
  -- [{"card_id": …, "similarity": …}, …], most similar first.
  related jsonb NOT NULL,
  model text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX recalls_summary ON reeve.recalls (daily_summary_id, seq);
