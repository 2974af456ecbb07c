-- Events that were reversed. History is never changed: a reversal is an event of the opposite value, on the same local day.

-- The event that this one is the opposite of.
ALTER TABLE events ADD COLUMN reverses uuid;

CREATE TABLE reversals (
  -- that of the opposite event
  id uuid PRIMARY KEY,
  no bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  -- the event that is, or with a reversal of its reversal no longer is, as if it had never been
  root_id uuid NOT NULL,
  -- what was reversed: that event, or the last reversal of it
  reversed_id uuid NOT NULL,
  -- whether the event is reversed by this one now; at most one is of an event
  in_force boolean NOT NULL,
  -- what it took, as [award, points system number, trigger number, points], negative where it gave
  awards jsonb NOT NULL,
  -- what it revoked, or restored, as [achievement number, epoch ms of the completion, what completed it or null]
  revoked jsonb NOT NULL,
  at timestamptz NOT NULL
);
CREATE UNIQUE INDEX reversals_in_force ON reversals (root_id) WHERE in_force;
CREATE INDEX reversals_of_root ON reversals (root_id, no);
CREATE UNIQUE INDEX reversals_of_user ON reversals (tenant_no, user_id, no);
