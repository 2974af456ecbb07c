-- What users brought from elsewhere. Their days of a metric are rows beside the events, one a day, which every read of history
-- counts like events; nothing is triggered by them.

ALTER TABLE events
  -- the sum of the user's events of a metric on a local day elsewhere
  ADD COLUMN imported boolean NOT NULL DEFAULT false;
