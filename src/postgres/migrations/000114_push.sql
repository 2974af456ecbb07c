-- Push notifications that Laurel sends itself, beside the e-mails. docs/decisions/0050-one-push-notification-to-all-devices.md

SET LOCAL lock_timeout = '5s';
ALTER TABLE email_messages
  -- an occasion has at most one message of each medium
  ADD COLUMN medium text NOT NULL DEFAULT 'email' CHECK (medium IN ('email', 'push'));
DROP INDEX email_messages_due;
CREATE INDEX email_messages_due ON email_messages (tenant_no, medium, due_ms, id) WHERE status = 'waiting';

-- A tenant's access to a provider of push notifications.
CREATE TABLE push_channels (
  tenant_no integer NOT NULL REFERENCES tenants (no),
  provider text NOT NULL CHECK (provider IN ('fcm', 'apns', 'expo', 'web_push')),
  enabled boolean NOT NULL,
  -- JSON, encrypted with a key that is not in Postgres
  credentials bytea NOT NULL,
  -- what administrators and apps may see of them
  shown jsonb NOT NULL,
  -- messages to devices a second
  per_second real NOT NULL,
  created timestamptz NOT NULL,
  updated timestamptz NOT NULL,
  PRIMARY KEY (tenant_no, provider)
);

-- What the push channels of a tenant have in common. One worker sends through all of them.
CREATE TABLE push_senders (
  tenant_no integer PRIMARY KEY REFERENCES tenants (no),
  -- whether one of the channels is
  enabled boolean NOT NULL,
  -- counts changes, so that a worker notices them
  version integer NOT NULL DEFAULT 1,
  updated timestamptz NOT NULL,
  lease_holder uuid,
  lease_until timestamptz
);

ALTER TABLE tenants
  -- the kinds with a template for push notifications, for queries that run often
  ADD COLUMN push_kinds text[] NOT NULL DEFAULT '{}';
