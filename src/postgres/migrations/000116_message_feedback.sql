-- What mail providers report about e-mails after they took them.

SET LOCAL lock_timeout = '5s';
-- 1: bounced for now, 2: delivered, 3: bounced for good, 4: complained. It only grows, so the order of reports does not matter.
ALTER TABLE email_messages ADD COLUMN feedback smallint, ADD COLUMN feedback_ms bigint;

-- The address at which a tenant's provider reports, and the shape of its reports.
CREATE TABLE message_feedback (
  tenant_no integer PRIMARY KEY REFERENCES tenants (no),
  -- part of the address; another one ends the old address
  nonce text NOT NULL,
  format jsonb NOT NULL,
  created timestamptz NOT NULL,
  updated timestamptz NOT NULL,
  received timestamptz
);
