-- The test clock, and points for time.

-- Where the clock stands (null: real time), and how far the work due by it is done. Used with TEST_CLOCK=1 only.
CREATE TABLE test_clock (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- counts the times it was set or let go
  version bigint NOT NULL DEFAULT 0,
  now_ms bigint,
  -- the version up to whose time all work is done
  done_version bigint NOT NULL DEFAULT 0,
  -- why it is not done further; null: nothing is in the way
  problem text
);
INSERT INTO test_clock DEFAULT VALUES;

-- The processes that follow the clock, by their last sign of life: what is lost in a crash is written again at once.
CREATE UNLOGGED TABLE test_clock_followers (
  id uuid PRIMARY KEY,
  worker boolean NOT NULL,
  version bigint NOT NULL,
  seen timestamptz NOT NULL
);

CREATE FUNCTION epoch_ms(timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN (extract(epoch FROM ($1 AT TIME ZONE 'UTC')) * 1000)::bigint;

-- Whoever is paid every n days is paid at the time of day (UTC) of the first sight, every n hours at the same
-- minute, second, millisecond: so those who are due in some seconds are 1 range of this index, or 24. It changes
-- with no event: `created` never does.
CREATE INDEX users_time_of_first_sight ON users (tenant_no, (epoch_ms(created) % 86400000));

-- How far the periods of each `time` trigger are paid: all that ended before `next_ms` are.
CREATE TABLE time_trigger_progress (
  tenant_no integer NOT NULL REFERENCES tenants (no),
  trigger_no integer NOT NULL,
  next_ms bigint NOT NULL,
  PRIMARY KEY (tenant_no, trigger_no)
);
CREATE INDEX catalog_time_triggers ON catalog_resources (tenant_no)
  WHERE kind = 'points_trigger' AND deleted IS NULL AND doc->>'type' = 'time' AND doc->>'status' = 'active';
