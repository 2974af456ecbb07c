-- Sessions of the console. A session stands for an admin key and ends with it.
CREATE TABLE sessions (
  -- SHA-256 of the token in the cookie
  hash bytea PRIMARY KEY,
  key_id uuid NOT NULL REFERENCES admin_keys (id) ON DELETE CASCADE,
  -- the key's hash at that time: a rotated key has another, and its sessions are over
  key_hash bytea NOT NULL,
  created timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_of_key ON sessions (key_id);

-- Tokens of the link that a start prints: each begins one session.
CREATE TABLE sign_in_tokens (
  hash bytea PRIMARY KEY,
  key_id uuid NOT NULL REFERENCES admin_keys (id) ON DELETE CASCADE,
  expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_tokens_of_key ON sign_in_tokens (key_id);
