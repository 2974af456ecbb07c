-- Templates and settings of the e-mails that Laurel sends itself, beside the settings of events.

ALTER TABLE tenants
  -- `MessageSettings` of src/domain/notifications/message-settings.ts; null: the defaults, without a template
  ADD COLUMN message_settings jsonb;

ALTER TABLE catalog_versions
  -- beside `doc` and `events`; null: the version that ended them did not change these
  ADD COLUMN messages jsonb;
