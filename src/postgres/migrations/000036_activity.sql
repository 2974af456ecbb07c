-- What happened in a tenant on each UTC day (epoch day), counted by the persister in the transaction that stores it. A
-- tenant's rows are written by one shard only, whose cursor its transactions lock: they do not wait for one another. The row of
-- today is updated by every transaction, so that its page has room for HOT updates.
CREATE TABLE tenant_days (
  tenant_no integer NOT NULL,
  day integer NOT NULL,
  events bigint NOT NULL DEFAULT 0,
  -- users who sent an event on that day
  active_users bigint NOT NULL DEFAULT 0,
  new_users bigint NOT NULL DEFAULT 0,
  -- of all points systems together; what was taken away is not subtracted
  points_awarded numeric NOT NULL DEFAULT 0,
  completions bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_no, day)
) WITH (fillfactor = 50);

-- The newest completions of each tenant, a hundred or so: `completions` has no index by time, which every completion would pay for.
CREATE TABLE newest_completions (
  tenant_no integer NOT NULL,
  no bigint GENERATED ALWAYS AS IDENTITY,
  user_id text NOT NULL,
  achievement_no integer NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (tenant_no, no)
);

-- An installation that has a past: what happened from `first_day` on and before `before` is counted from the tables, slice by
-- slice. `position`: how far; its form depends on the table. Done, a row goes on saying from when on days are counted.
CREATE TABLE activity_backfills (
  source text PRIMARY KEY,
  first_day integer NOT NULL,
  before timestamptz NOT NULL,
  position text NOT NULL DEFAULT '',
  is_done boolean NOT NULL DEFAULT false
);
INSERT INTO activity_backfills (source, first_day, before)
SELECT source, floor(extract(epoch FROM now()) / 86400)::int - 89, now()
  FROM unnest(ARRAY['events', 'awards', 'completions', 'users']) AS source
 WHERE EXISTS (SELECT FROM users);

-- Users of the days that are being counted, so that each is counted once a day. Empty before and after that.
CREATE TABLE activity_backfill_users (
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  day integer NOT NULL,
  PRIMARY KEY (tenant_no, user_id, day)
);
