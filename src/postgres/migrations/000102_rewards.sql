-- Rewards that users pay for with points. docs/decisions/0045-claims-are-reserved-first.md has the order of writes.

-- How many claims of a reward are not cancelled, including those of users deleted since. A transaction that
-- changes it locks it before a claim.
CREATE TABLE reward_counts (
  tenant_no integer NOT NULL,
  reward_no integer NOT NULL,
  claimed bigint NOT NULL,
  PRIMARY KEY (tenant_no, reward_no)
);

CREATE TABLE reward_claims (
  -- once paid, the ID of the spending
  id uuid PRIMARY KEY,
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  reward_no integer NOT NULL,
  system_no integer NOT NULL,
  price bigint NOT NULL,
  -- 0 reserved, 1 claimed, 2 fulfilled, 3 cancelled
  state smallint NOT NULL,
  -- null: a spending without a reservation, whose key another claim has
  idempotency_key text,
  -- cancelled, and the points not yet given back
  refund_due boolean NOT NULL DEFAULT false,
  reason text,
  reserved timestamptz NOT NULL,
  claimed timestamptz,
  fulfilled timestamptz,
  cancelled timestamptz,
  -- the last state that was reported to webhooks and live streams
  reported smallint NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX reward_claims_key ON reward_claims (tenant_no, user_id, idempotency_key);
CREATE INDEX reward_claims_of_user ON reward_claims (tenant_no, user_id, id);
CREATE INDEX reward_claims_limit ON reward_claims (tenant_no, user_id, reward_no) WHERE state < 3;
CREATE INDEX reward_claims_of_tenant ON reward_claims (tenant_no, id);
CREATE INDEX reward_claims_of_reward ON reward_claims (tenant_no, reward_no, id);
CREATE INDEX reward_claims_open ON reward_claims (id) WHERE state = 0 OR refund_due OR reported <> state;

SET LOCAL lock_timeout = '5s';
ALTER TABLE balance_changes
  -- the reward that a spending paid for
  ADD COLUMN reward_no integer;
