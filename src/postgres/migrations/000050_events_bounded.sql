-- From here to 52, events and awards become partitioned without being copied: the table of before becomes the first partition.
-- This says up to which ID its rows may go, which Postgres believes of new ones only. The bound is days ahead: a start that
-- is broken off here is to be repeated before that.
SET LOCAL lock_timeout = '5s';

-- Until migration 52.
CREATE TABLE events_bound (end_day integer NOT NULL, end_id uuid NOT NULL);

DO $$
DECLARE
  newest uuid := (SELECT id FROM events ORDER BY id DESC LIMIT 1);
  -- The last day of which rows may come before the bound is in force.
  busy_day integer := greatest(
    floor(extract(epoch FROM now()) / 86400),
    coalesce(('x' || left(replace(newest::text, '-', ''), 12))::bit(48)::bigint / 86400000, 0)) + 2;
  last_day integer := (SELECT max(end_day) FROM event_partitions);
  last_id uuid := (SELECT end_id FROM event_partitions ORDER BY end_day DESC LIMIT 1);
  bound uuid;
BEGIN
  IF newest IS NULL THEN
    INSERT INTO events_bound SELECT end_day, end_id FROM event_partitions WHERE first_day = 0;
    RETURN;
  END IF;
  -- Nobody made partitions for a while, or a test clock was set far ahead.
  IF last_day <= busy_day THEN
    bound := rpad(lpad(to_hex((busy_day + 7)::bigint * 86400000), 12, '0'), 32, '0');
    EXECUTE format(
      'CREATE TABLE used_keys_d%1$s (LIKE used_keys INCLUDING ALL);
       WITH moved AS (DELETE FROM used_keys_default WHERE id >= %2$L AND id < %3$L RETURNING *)
       INSERT INTO used_keys_d%1$s SELECT * FROM moved;
       ALTER TABLE used_keys ATTACH PARTITION used_keys_d%1$s FOR VALUES FROM (%2$L) TO (%3$L)', last_day, last_id, bound);
    INSERT INTO event_partitions VALUES (last_day, busy_day + 7, bound);
  END IF;
  INSERT INTO events_bound SELECT end_day, end_id FROM event_partitions WHERE end_day > busy_day ORDER BY end_day LIMIT 1;
  SELECT end_id INTO bound FROM events_bound;
  EXECUTE format('ALTER TABLE events ADD CONSTRAINT events_bound CHECK (id < %L) NOT VALID', bound);
  EXECUTE format('ALTER TABLE awards ADD CONSTRAINT awards_bound CHECK (id < %L) NOT VALID', bound);
END $$;
