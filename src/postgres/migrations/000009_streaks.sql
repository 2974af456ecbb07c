-- Streaks by the clock: what freezes, pauses and restoring did, the pauses, and what the sweep goes by.

-- Since when freezes are earned as the settings say, epoch ms.
ALTER TABLE tenants ADD COLUMN earn_since bigint;

-- What the sweep asks for, beside the state: whose streaks may change when a day begins in a zone. Only `zone` is in an
-- index, and it hardly ever changes, so that updates stay HOT.
ALTER TABLE users
  -- IANA name; '' is UTC
  ADD COLUMN zone text NOT NULL DEFAULT '',
  -- first local day (epoch day) that may end a streak or use a freeze or pause, maybe some days early; null: none does
  ADD COLUMN due_day integer,
  ADD COLUMN freezes integer NOT NULL DEFAULT 0,
  -- the day from which the next interval of earning freezes counts
  ADD COLUMN earned_day integer;
CREATE INDEX users_of_zone ON users (tenant_no, zone, id);

-- The zones that a tenant's users are or were in, and how far their days are swept.
CREATE TABLE streak_zones (
  tenant_no integer NOT NULL,
  zone text NOT NULL,
  -- last local day (epoch day) whose beginning is swept
  swept_day integer NOT NULL,
  -- the sweep under way has seen all users with an ID up to this one
  last_user text NOT NULL DEFAULT '',
  PRIMARY KEY (tenant_no, zone)
);

-- What excused or ended streaks. Kinds: 1 a freeze, 2 a pause, 3 the streak was lost (its days and length), 4 it was
-- restored (first day of the restored streak, the day of the call, length), 5 it gave way to a restored one.
CREATE TABLE streak_changes (
  no bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  -- 1 daily, 2 weekly, 3 monthly
  frequency smallint NOT NULL,
  kind smallint NOT NULL,
  from_day integer NOT NULL,
  to_day integer NOT NULL,
  length integer,
  at timestamptz NOT NULL
);
CREATE INDEX streak_changes_of_user ON streak_changes (tenant_no, user_id, frequency, to_day, no);

-- Pauses, as they stand: shortened to the days before, when they are deleted while they last.
CREATE TABLE streak_pauses (
  id uuid PRIMARY KEY,
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  from_day integer NOT NULL,
  to_day integer NOT NULL,
  created timestamptz NOT NULL,
  deleted timestamptz
);
CREATE INDEX streak_pauses_of_user ON streak_pauses (tenant_no, user_id, id);
