-- What keys may do, and until when; when application keys were last used.
ALTER TABLE application_keys
  -- `all`, or the one sort of operations that the key is for (src/domain/api-key.ts)
  ADD COLUMN scope text NOT NULL DEFAULT 'all' CHECK (scope IN ('all', 'read', 'events', 'profile')),
  -- null: never
  ADD COLUMN expires_at timestamptz,
  -- to the minute or so; no index has it, so that writing it leaves them alone
  ADD COLUMN last_used timestamptz;
CREATE INDEX application_keys_of_tenant ON application_keys (tenant_no, id);

ALTER TABLE admin_keys
  ADD COLUMN access text NOT NULL DEFAULT 'full' CHECK (access IN ('full', 'read')),
  -- the one tenant that the key is for; null: the whole organisation
  ADD COLUMN tenant_no integer REFERENCES tenants (no);
