-- Who may call the API. A key itself is never stored, only its SHA-256.

CREATE TABLE reeve.api_keys (
  -- Insertion order.
  seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  id uuid PRIMARY KEY,
  name text NOT NULL,
  role text NOT NULL CHECK (role IN ('operator', 'client')),
  user_id text,
  digest text NOT NULL UNIQUE CHECK (digest ~ '^[0-9a-f]{64}$'),
  created_at timestamptz NOT NULL DEFAULT now(),
  revoked_at timestamptz,
  -- A client is always somebody.
  CHECK ((role = 'client') = (user_id IS NOT NULL))
);
