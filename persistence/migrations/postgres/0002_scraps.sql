-- What the CARD_ANALYSIS job type works on and makes.

CREATE TABLE reeve.scraps (
  id uuid PRIMARY KEY,
  content text NOT NULL,
  title text,
  url text,
  user_id text,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE reeve.knowledge_cards (
  -- Insertion order.
  seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  id uuid PRIMARY KEY,
  -- Soft reference: the scrap may be deleted later.
  scrap_id uuid NOT NULL,
  -- A job stores one card, however often it runs.
  job_id uuid NOT NULL UNIQUE,
  user_id text,
  summary text NOT NULL,
  tags text[] NOT NULL,
  embedding real[] NOT NULL,
  model text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX knowledge_cards_scrap
  ON reeve.knowledge_cards (scrap_id, seq);
