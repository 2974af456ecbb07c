-- Events and awards by the time in their IDs, in the stretches of `event_partitions`: inserts go to pages that are in memory, and
-- what is old can be dropped at once. Nothing is read or written here: it takes some ms once it has its locks.
SET LOCAL lock_timeout = '5s';

ALTER TABLE events RENAME TO events_d0;
ALTER INDEX events_pkey RENAME TO events_d0_pkey;
ALTER INDEX events_of_user RENAME TO events_d0_of_user;
ALTER INDEX events_late RENAME TO events_d0_late;
CREATE TABLE events (LIKE events_d0 INCLUDING DEFAULTS) PARTITION BY RANGE (id);
ALTER TABLE events ADD PRIMARY KEY (id);
CREATE INDEX events_of_user ON events (tenant_no, user_id, metric_no, local_date, id) INCLUDE (value);
-- Those of an earlier local day than the UTC days of their ID allow (late events), which are few: by ID alone.
CREATE INDEX events_late ON events (tenant_no, user_id, id)
  WHERE at - TIMESTAMPTZ '2000-01-01 00:00:00+00' >= (local_date - DATE '2000-01-01' + 2) * INTERVAL '1 day';
CREATE TABLE events_default PARTITION OF events DEFAULT;

ALTER TABLE awards RENAME TO awards_d0;
ALTER INDEX awards_of_user RENAME TO awards_d0_of_user;
CREATE TABLE awards (LIKE awards_d0 INCLUDING DEFAULTS) PARTITION BY RANGE (id);
ALTER TABLE awards ADD CONSTRAINT awards_of_user
  PRIMARY KEY (tenant_no, user_id, system_no, id) INCLUDE (local_date, awarded);
CREATE TABLE awards_default PARTITION OF awards DEFAULT;

DO $$
DECLARE
  name text;
  bound record;
  stretch record;
BEGIN
  SELECT * INTO bound FROM events_bound;
  FOREACH name IN ARRAY ARRAY['events', 'awards'] LOOP
    EXECUTE format('ALTER TABLE %1$I ATTACH PARTITION %1$s_d0 FOR VALUES FROM (MINVALUE) TO (%2$L)', name, bound.end_id);
    EXECUTE format('ALTER TABLE %1$s_d0 DROP CONSTRAINT IF EXISTS %1$s_bound', name);
    FOR stretch IN
      SELECT first_day, lag(end_id) OVER (ORDER BY first_day) AS first_id, end_id FROM event_partitions ORDER BY first_day
    LOOP
      IF stretch.first_day >= bound.end_day THEN
        EXECUTE format('CREATE TABLE %1$s_d%2$s PARTITION OF %1$I FOR VALUES FROM (%3$L) TO (%4$L)',
                       name, stretch.first_day, stretch.first_id, stretch.end_id);
      END IF;
    END LOOP;
  END LOOP;
END $$;

DROP TABLE events_bound;
