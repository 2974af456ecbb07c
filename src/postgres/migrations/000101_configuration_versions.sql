-- Earlier versions of the configuration: with `catalog_versions`, these columns say which resources a version had.

ALTER TABLE catalog_resources
  -- the version that created it and the first one without it; null before this migration and from older processes beside
  -- it: `created` and `deleted` then decide
  ADD COLUMN created_version bigint,
  ADD COLUMN deleted_version bigint;

ALTER TABLE catalog_versions
  -- the event settings, beside the streak settings; null: not recorded, as before this migration
  ADD COLUMN events jsonb;

-- Who made a version, when, and what it changed.
CREATE INDEX audit_log_of_version ON audit_log (tenant_no, version, no) WHERE version IS NOT NULL;
