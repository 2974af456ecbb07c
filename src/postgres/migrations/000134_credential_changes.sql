-- Which keys, sessions and channels for messages ended or changed, so that processes forget only these, and not the keys of everyone.

SET LOCAL lock_timeout = '5s';
-- Counts these changes for processes that miss the announcement.
ALTER TABLE organisation ADD COLUMN credentials_revision bigint NOT NULL DEFAULT 0;

-- The last 1,000 of these changes.
CREATE TABLE credential_changes (
  -- of `organisation.credentials_revision`, without gaps
  revision bigint PRIMARY KEY,
  -- prefixes of keys, hashes of sessions (base64url), `channels-` and the number of a tenant; null if there were too many
  names text[]
);
