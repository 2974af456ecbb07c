-- What is kept of events and awards that are dropped (EVENT_RETENTION_DAYS): their sums by user, local day and what was sent with
-- them. The sums of a stretch of `event_partitions` count once it is dropped, which is one transaction with the drop.
ALTER TABLE event_partitions
  -- whether events and awards of it are gone
  ADD COLUMN is_dropped boolean NOT NULL DEFAULT false,
  -- the last user whose sums are made; null: none are
  ADD COLUMN summed_tenant integer,
  ADD COLUMN summed_user text;

CREATE TABLE event_days (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- the first day of the stretch
  part integer NOT NULL,
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  metric_no integer NOT NULL,
  local_date date NOT NULL,
  attributes jsonb,
  events bigint NOT NULL,
  -- those with a value above 0
  positive bigint NOT NULL,
  value numeric NOT NULL
);
CREATE INDEX event_days_of_user ON event_days (tenant_no, user_id, metric_no, local_date);
-- Sums of a stretch are beside one another.
CREATE INDEX event_days_of_part ON event_days USING brin (part);

CREATE TABLE award_days (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  part integer NOT NULL,
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  system_no integer NOT NULL,
  local_date date NOT NULL,
  awards bigint NOT NULL,
  awarded numeric NOT NULL
);
CREATE INDEX award_days_of_user ON award_days (tenant_no, user_id, system_no, local_date);
CREATE INDEX award_days_of_part ON award_days USING brin (part);
