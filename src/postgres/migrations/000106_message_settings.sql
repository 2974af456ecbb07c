-- Templates and settings of the e-mails that Laurel sends itself, beside the settings of events.

ALTER TABLE tenants
  -- `MessageSettings` of src/domain/notifications/message-settings.ts; null: the defaults, without a template
  ADD COLUMN message_settings jsonb,
  -- the kinds of e-mails with a template, for queries that run often
  ADD COLUMN message_kinds text[] NOT NULL DEFAULT '{}',
  -- when the settings last changed
  ADD COLUMN messages_updated timestamptz;

ALTER TABLE catalog_versions
  -- beside `doc` and `events`; null: the version that ended them did not change these
  ADD COLUMN messages jsonb;
