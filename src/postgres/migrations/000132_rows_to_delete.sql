-- Rows of deleted users that had too many for the transaction of the deletion; a job deletes them in slices (decision 57).

CREATE TABLE rows_to_delete (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  job_no bigint NOT NULL REFERENCES jobs (no) ON DELETE CASCADE,
  -- the table; 'events' also has the used keys of the events
  rows_of text NOT NULL CHECK (rows_of IN ('webhook_messages', 'events', 'awards', 'used_keys')),
  -- the number of the points system of awards, the day of webhook messages
  part integer,
  -- in order
  ids uuid[] NOT NULL
);
CREATE INDEX rows_to_delete_of_job ON rows_to_delete (job_no, no);
