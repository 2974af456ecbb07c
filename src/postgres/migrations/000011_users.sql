-- Users are listed by ID and searched by how their ID, name or e-mail begins. The keys are what is searched for, in
-- lower case (src/postgres/users/search-keys.ts): a name, its last word, an e-mail address. They are written only when
-- they change, so that an event still leaves no index to be touched.

ALTER TABLE users
  ADD COLUMN name_key text COLLATE "C",
  ADD COLUMN last_name_key text COLLATE "C",
  ADD COLUMN email_key text COLLATE "C";

CREATE INDEX users_by_id ON users (tenant_no, id COLLATE "C");
CREATE INDEX users_by_name ON users (tenant_no, name_key, id) WHERE name_key IS NOT NULL;
CREATE INDEX users_by_last_name ON users (tenant_no, last_name_key, id) WHERE last_name_key IS NOT NULL;
CREATE INDEX users_by_email ON users (tenant_no, email_key, id) WHERE email_key IS NOT NULL;

-- Who changed what, one row a thing: of a tenant (its catalog, its application keys, its users), or of the organisation.
CREATE TABLE audit_log (
  no bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  -- null: of the organisation
  tenant_no integer REFERENCES tenants (no),
  at timestamptz NOT NULL,
  -- the readable part of the key that asked for it
  who text NOT NULL,
  action text NOT NULL,
  kind text NOT NULL,
  id uuid,
  name text,
  -- of the catalog, where it is about that
  version bigint,
  -- what the changed fields were and are
  before jsonb,
  after jsonb
);
CREATE INDEX audit_log_of_tenant ON audit_log (tenant_no, no);
DROP TABLE catalog_changes;
