-- Used idempotency keys have a table of their own, so that they stay when events go, and a rebuild reads nothing else.

-- What is partitioned by the time in events' IDs: a row for each stretch of UTC days (epoch days) that has partitions, named
-- by its first day. The stretch from day 0 holds everything earlier as well. What is of no stretch is in the default ones.
CREATE TABLE event_partitions (
  first_day integer PRIMARY KEY,
  -- the day after the last one
  end_day integer NOT NULL UNIQUE,
  -- the first ID of that day
  end_id uuid NOT NULL,
  -- whether used keys of it are found by user and key in `used_keys`; those of younger events are found by `events`
  keys_indexed boolean NOT NULL DEFAULT false
);

-- Rows come in the order of their IDs, so that the primary key grows at its end: 1.5 µs of CPU a key with the row. The hash
-- index of events that was here before took as long, and a page of its own for almost every key once it was larger than memory.
CREATE TABLE used_keys (
  -- that of the event
  id uuid PRIMARY KEY,
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  metric_no integer NOT NULL,
  idempotency_key text NOT NULL
) PARTITION BY RANGE (id);
CREATE TABLE used_keys_default PARTITION OF used_keys DEFAULT;

-- Keys of events that a version without `used_keys` stored: copied in passes over the events, see src/postgres/idempotency.
CREATE TABLE key_copies (
  no integer PRIMARY KEY,
  -- events up to this ID are copied
  position uuid NOT NULL,
  -- not begun before: by the server's time
  not_before timestamptz NOT NULL,
  is_done boolean NOT NULL DEFAULT false
);

DO $$
DECLARE
  today integer := floor(extract(epoch FROM now()) / 86400);
  newest uuid := (SELECT id FROM events ORDER BY id DESC LIMIT 1);
  newest_day integer := coalesce(('x' || left(replace(newest::text, '-', ''), 12))::bit(48)::bigint / 86400000, 0);
  first_day integer := CASE WHEN newest IS NULL THEN today ELSE greatest(today, newest_day) + 7 END;
  end_day integer := first_day + 28;
  first_id uuid := rpad(lpad(to_hex(first_day::bigint * 86400000), 12, '0'), 32, '0');
  end_id uuid := rpad(lpad(to_hex(end_day::bigint * 86400000), 12, '0'), 32, '0');
BEGIN
  EXECUTE format('CREATE TABLE used_keys_d0 PARTITION OF used_keys FOR VALUES FROM (MINVALUE) TO (%L)', first_id);
  EXECUTE format('CREATE TABLE used_keys_d%s PARTITION OF used_keys FOR VALUES FROM (%L) TO (%L)', first_day, first_id, end_id);
  INSERT INTO event_partitions VALUES (0, first_day, first_id), (first_day, end_day, end_id);
  IF newest IS NULL THEN
    DROP INDEX events_used_keys;
  ELSE
    -- The second pass is for what workers of the previous version store before they are replaced.
    INSERT INTO key_copies VALUES
      (1, '00000000-0000-0000-0000-000000000000', now()),
      (2, rpad(lpad(to_hex((newest_day - 1)::bigint * 86400000), 12, '0'), 32, '0')::uuid, now() + INTERVAL '1 day');
  END IF;
END $$;
