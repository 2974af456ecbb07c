-- A read from a local day on looks only at partitions that may have rows of it. A row counts for the day in its ID, the next one
-- (zones ahead of UTC), or an earlier one (late events, reversals); the few that count for a later one are known by partition.
ALTER TABLE event_partitions
  -- the last local day (epoch day) of those few; null: there are none
  ADD COLUMN ahead_to integer,
  -- from when on (server's time) its rows are looked through for those that came before this column; null: that is done
  ADD COLUMN look_through_after timestamptz;

-- A day from now no worker of an earlier version stores any.
UPDATE event_partitions SET look_through_after = now() + INTERVAL '1 day'
 WHERE EXISTS (SELECT FROM events) OR EXISTS (SELECT FROM awards);
