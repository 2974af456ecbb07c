-- What users would have by the rules of now: planned by a job, shown, applied as it was shown, and taken back as a whole.

CREATE TABLE recomputations (
  no bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  id uuid NOT NULL UNIQUE,
  tenant_no integer NOT NULL REFERENCES tenants (no),
  -- what was asked for, as the API shows it
  request jsonb NOT NULL,
  -- the cohort: user attribute number → value
  cohort jsonb NOT NULL,
  status text NOT NULL,
  -- why it failed
  error text,
  -- the version of the catalog whose rules the plan goes by
  catalog_version bigint NOT NULL,
  -- the number of the step, of all tenants, in which it is, or was, applied or reverted
  step_no bigint,
  -- all users with an ID up to this one were looked at in this step
  last_user text NOT NULL DEFAULT '',
  users_done bigint NOT NULL DEFAULT 0,
  users_total bigint,
  figures jsonb NOT NULL DEFAULT '{}',
  requested_by text NOT NULL,
  requested timestamptz NOT NULL,
  planned timestamptz,
  applied timestamptz,
  reverted timestamptz,
  -- which worker works on it, and until when nobody else does
  worker uuid,
  leased_until timestamptz
);
-- Of each tenant one at a time.
CREATE UNIQUE INDEX recomputations_active ON recomputations (tenant_no) WHERE status IN ('planning', 'applying', 'reverting');
CREATE INDEX recomputations_of_tenant ON recomputations (tenant_no, no);
CREATE SEQUENCE recomputation_steps;

-- What is to be done of a user, and what was.
CREATE TABLE recomputed_users (
  recomputation_no bigint NOT NULL REFERENCES recomputations (no) ON DELETE CASCADE,
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  -- when the user was first seen: another user of the same ID is not meant
  created_ms bigint NOT NULL,
  -- see src/engine/recomputations/planned-user.ts; null: it could not be planned
  plan jsonb,
  gains boolean NOT NULL DEFAULT false,
  loses boolean NOT NULL DEFAULT false,
  -- what completions and awards name as their cause, and what of the plan was done
  applied_id uuid,
  applied jsonb,
  reverted_id uuid,
  -- why nothing was done
  skipped text,
  PRIMARY KEY (recomputation_no, user_id)
);
CREATE INDEX recomputed_users_of_user ON recomputed_users (tenant_no, user_id, recomputation_no);
CREATE INDEX recomputed_users_losing ON recomputed_users (recomputation_no, user_id) WHERE loses;
