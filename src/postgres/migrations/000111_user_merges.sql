-- Users who were merged into others (docs/decisions/0049-a-merge-is-one-commit.md).

CREATE TABLE user_merges (
  -- the ID of the record
  id uuid PRIMARY KEY,
  tenant_no integer NOT NULL,
  -- the user who has everything now: the remaining one, or the one into whom that one was merged since
  user_id text NOT NULL,
  -- the user who is gone
  old_id text NOT NULL,
  -- the user who remained
  into_id text NOT NULL,
  at timestamptz NOT NULL,
  -- what the request was answered
  answer jsonb NOT NULL
);
CREATE UNIQUE INDEX user_merges_of_old ON user_merges (tenant_no, old_id);
CREATE INDEX user_merges_of_user ON user_merges (tenant_no, user_id, id);

-- Used idempotency keys of users who were merged, as the remaining user's. The ID is made for that user (`KeyedIds`), with the time of
-- the event or change of a balance that used the key.
CREATE TABLE merged_keys (
  id uuid PRIMARY KEY,
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  metric_no integer NOT NULL,
  idempotency_key text NOT NULL,
  -- what used the key
  used_by uuid NOT NULL,
  -- another row of the user has the key as well: of an event in quarantine or a change of a balance
  is_listed boolean NOT NULL
);
CREATE INDEX merged_keys_of_user ON merged_keys (tenant_no, user_id, id);
-- Bytes 7 to 14 of the ID come from a digest of tenant, user, metric and key.
CREATE INDEX merged_keys_used ON merged_keys USING hash (substr(uuid_send(id), 7, 8));

SET LOCAL lock_timeout = '5s';
ALTER TABLE tenants
  -- IDs of users may stand for others
  ADD COLUMN has_merges boolean NOT NULL DEFAULT false;

-- Subscribers move the rows of `old_id` to `into_id`.
ALTER PUBLICATION laurel_history_changes ADD TABLE user_merges (id, tenant_no, user_id, old_id, into_id, at);
