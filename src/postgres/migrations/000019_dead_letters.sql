-- Entries of the outbox that could not be stored, or not all of them: kept whole, as evidence and for another try.
CREATE TABLE dead_letters (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  shard integer NOT NULL,
  -- where it was in the outbox
  position text NOT NULL,
  -- as the entry says; null: it could not be read
  tenant_no integer,
  -- the users that it names, as far as it could be read: a deletion looks here
  user_ids text[] NOT NULL,
  -- the entry, packed (src/redis/outbox-entry.ts); null once it is stored, and while Redis keeps it
  entry bytea,
  in_redis boolean NOT NULL DEFAULT false,
  -- what of it is not stored: [{ part, at, user?, reason }]
  parts jsonb NOT NULL,
  -- why, without anything that a user sent
  reason text NOT NULL,
  status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'stored')),
  tries integer NOT NULL DEFAULT 0,
  created timestamptz NOT NULL DEFAULT now(),
  updated timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX dead_letters_by_age ON dead_letters (created, id);
CREATE INDEX dead_letters_waiting ON dead_letters (tenant_no) WHERE status = 'waiting';

-- How many entries were ever set aside: rows of dead_letters may be dropped.
ALTER TABLE outbox_cursors ADD COLUMN set_aside bigint NOT NULL DEFAULT 0;

-- Position of the last entry whose state of this user could not be stored; null, as nearly always: there is none. The
-- next state that can is written whole, whatever its entry says has changed.
ALTER TABLE users ADD COLUMN owed_position text;
