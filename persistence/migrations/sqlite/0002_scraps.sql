-- 0002_scraps.sql -- scraps and the knowledge cards made of them.

CREATE TABLE scraps (
  id TEXT PRIMARY KEY NOT NULL CHECK (length(id) = 36 AND id = lower(id)),
  content TEXT NOT NULL,
  title TEXT,
  url TEXT,
  user_id TEXT,
  created_at INTEGER NOT NULL CHECK (typeof(created_at) = 'integer')
);

-- `scrap_id` is soft: a card outlives its scrap. `embedding` is little-endian
-- 32-bit floats, `tags` a JSON array of texts.
CREATE TABLE knowledge_cards (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 36 AND id = lower(id)),
  scrap_id TEXT NOT NULL,
  job_id TEXT NOT NULL UNIQUE,
  user_id TEXT,
  summary TEXT NOT NULL,
  tags TEXT NOT NULL,
  embedding BLOB NOT NULL CHECK (
    typeof(embedding) = 'blob' AND length(embedding) % 4 = 0),
  model TEXT NOT NULL,
  created_at INTEGER NOT NULL CHECK (typeof(created_at) = 'integer')
);

CREATE INDEX knowledge_cards_by_scrap ON knowledge_cards (scrap_id, seq);
