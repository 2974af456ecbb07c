-- Late events and other corrections: history is repaired by rows that are added, nothing is erased.

-- When an event happened that came later than that; null: at `at`. `local_date` is the day of it.
ALTER TABLE events ADD COLUMN occurred_at timestamptz;

ALTER TABLE streak_changes
  -- the correction (its ID: that of a late event, or of a reversal) by which others hold instead; null: it holds
  ADD COLUMN superseded_by uuid,
  -- the correction that this comes from; null: it happened so, at `at`
  ADD COLUMN correction uuid;

ALTER TABLE organisation
  -- how far back events may have happened, in days
  ADD COLUMN late_event_days integer NOT NULL DEFAULT 35 CHECK (late_event_days BETWEEN 0 AND 400),
  -- whether application keys may say when their events happened
  ADD COLUMN clients_may_send_late boolean NOT NULL DEFAULT false;
