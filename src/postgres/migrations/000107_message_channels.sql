-- How tenants' e-mails are sent, and the addresses that get none.

CREATE TABLE message_channels (
  tenant_no integer PRIMARY KEY REFERENCES tenants (no),
  enabled boolean NOT NULL,
  host text NOT NULL,
  port integer NOT NULL,
  security text NOT NULL CHECK (security IN ('tls', 'starttls', 'none')),
  username text,
  -- encrypted with a key that is not in Postgres
  password bytea,
  sender_address text NOT NULL,
  sender_name text,
  reply_to text,
  -- e-mails a second
  per_second real NOT NULL,
  -- counts changes, so that a worker notices them
  version integer NOT NULL DEFAULT 1,
  created timestamptz NOT NULL,
  updated timestamptz NOT NULL,
  -- the worker that sends, so that several together keep to the pace
  lease_holder uuid,
  lease_until timestamptz
);

-- Addresses that a mail server refused for good.
CREATE TABLE message_suppressions (
  tenant_no integer NOT NULL REFERENCES tenants (no),
  -- in lower case
  address text NOT NULL,
  -- the user to whom the refused e-mail was addressed; the row is deleted with the user
  user_id text NOT NULL,
  reason text NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (tenant_no, address)
);
CREATE INDEX message_suppressions_of_user ON message_suppressions (tenant_no, user_id);

-- Each tenant's e-mails are sent by themselves.
DROP INDEX email_messages_due;
CREATE INDEX email_messages_due ON email_messages (tenant_no, due_ms, id) WHERE status = 'waiting';
-- The list of a tenant's e-mails, newest first.
CREATE INDEX email_messages_of_tenant ON email_messages (tenant_no, at, id);
