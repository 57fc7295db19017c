-- 0003_api_keys.sql -- who may call the API. A key itself is never stored, only
-- its SHA-256.

CREATE TABLE api_keys (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 36 AND id = lower(id)),
  name TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('operator', 'client')),
  user_id TEXT,
  digest TEXT NOT NULL UNIQUE CHECK (length(digest) = 64),
  created_at INTEGER NOT NULL CHECK (typeof(created_at) = 'integer'),
  revoked_at INTEGER,
  -- A client is always somebody.
  CHECK ((role = 'client') = (user_id IS NOT NULL))
);
