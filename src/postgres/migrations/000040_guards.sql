-- Events that a guard of their metric keeps from being applied until an administrator releases or drops them. Rows stay when
-- that is done: their idempotency keys are used.
CREATE TABLE quarantine (
  -- the event's; of the event that is applied with its release, too
  id uuid PRIMARY KEY,
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  metric_no integer NOT NULL,
  -- which one (src/packed/guard-fields.ts)
  guard smallint NOT NULL,
  -- as it was sent
  value numeric NOT NULL,
  at timestamptz NOT NULL,
  attributes jsonb,
  idempotency_key text,
  -- 1 waits, 2 released, 3 dropped
  status smallint NOT NULL DEFAULT 1,
  settled timestamptz
);
CREATE INDEX quarantine_by_status ON quarantine (tenant_no, status, id);
CREATE INDEX quarantine_of_user ON quarantine (tenant_no, user_id, id);
-- As that of events, with which old keys are looked up.
CREATE INDEX quarantine_used_keys ON quarantine USING hash (substr(uuid_send(id), 7, 8)) WHERE idempotency_key IS NOT NULL;

-- How often guards stopped events of a user.
CREATE TABLE guard_counts (
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  metric_no integer NOT NULL,
  guard smallint NOT NULL,
  refused bigint NOT NULL,
  clamped bigint NOT NULL,
  quarantined bigint NOT NULL,
  last timestamptz NOT NULL,
  PRIMARY KEY (tenant_no, user_id, metric_no, guard)
);
