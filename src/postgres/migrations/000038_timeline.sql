-- What a user's timeline is read from: causes, and the rules as they were.

-- The events of a metric and day by ID, too: so that a day of a million events is read in pages. A longer entry of an index
-- that is there costs 0.8 µs of CPU and 25 bytes an event, an index of its own (tenant, user, ID) 9.5 µs and 71 bytes.
DROP INDEX events_of_user;
CREATE INDEX events_of_user ON events (tenant_no, user_id, metric_no, local_date, id) INCLUDE (value);

-- Those of an earlier local day than the UTC days of their ID allow (late events), which are few: by ID alone.
CREATE INDEX events_late ON events (tenant_no, user_id, id)
  WHERE at - TIMESTAMPTZ '2000-01-01 00:00:00+00' >= (local_date - DATE '2000-01-01' + 2) * INTERVAL '1 day';

ALTER TABLE events
  -- to which length the event extended the streak that counted; null: it did not, or it is from before this column
  ADD COLUMN streak integer,
  -- the version of the catalog by which it was applied, where it extended the streak, completed or awarded something
  ADD COLUMN catalog_version bigint;
ALTER TABLE awards ADD COLUMN catalog_version bigint;
ALTER TABLE completions
  ADD COLUMN catalog_version bigint,
  -- the event that completed it, or what else happened (an ID that awards begin with); null: from before this column
  ADD COLUMN caused_by uuid,
  -- an edit of the catalog had it completed for those who qualified already
  ADD COLUMN backdated boolean NOT NULL DEFAULT false;

-- What the resources of a catalog were before they were changed: a row a change, written in its transaction. What a resource
-- was in a version says the row with the smallest `until_version` above it; without one it has not changed since
-- (catalog_resources).
CREATE TABLE catalog_versions (
  tenant_no integer NOT NULL REFERENCES tenants (no),
  -- null: the streak settings
  id uuid REFERENCES catalog_resources (id) ON DELETE CASCADE,
  -- the number that the resource had; null: the streak settings
  no integer,
  -- the version of the catalog that has something else
  until_version bigint NOT NULL,
  -- from when on, and until when it was so; of streak settings `since` is not known
  since timestamptz,
  until timestamptz NOT NULL,
  doc jsonb NOT NULL
);
CREATE UNIQUE INDEX catalog_versions_of_resource ON catalog_versions (tenant_no, id, until_version) NULLS NOT DISTINCT;
