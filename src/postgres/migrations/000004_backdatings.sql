-- Achievements to be completed for users who qualify already: work that an edit of the catalog leaves behind, in
-- the edit's own transaction, so that it cannot be lost between the two.

CREATE TABLE backdatings (
  tenant_no integer NOT NULL REFERENCES tenants (no),
  achievement_id uuid NOT NULL REFERENCES catalog_resources (id),
  achievement_no integer NOT NULL,
  -- the version of the catalog that asked for it last
  version bigint NOT NULL,
  status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'running', 'done')),
  -- users looked at so far; all with an ID up to `last_user` are
  last_user text NOT NULL DEFAULT '',
  users_done bigint NOT NULL DEFAULT 0,
  users_total bigint,
  completed bigint NOT NULL DEFAULT 0,
  requested timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished timestamptz,
  PRIMARY KEY (tenant_no, achievement_no)
);
CREATE INDEX backdatings_open ON backdatings (requested) WHERE status <> 'done';
