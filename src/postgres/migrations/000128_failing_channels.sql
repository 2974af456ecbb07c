-- Failed attempts in a row of channels for e-mails and push notifications, for administrators.

SET LOCAL lock_timeout = '5s';
ALTER TABLE message_channels
  -- attempts since the last success; refused addresses do not count
  ADD COLUMN failures integer NOT NULL DEFAULT 0,
  -- when the first of them was, and why the last failed; null without any
  ADD COLUMN failing_since timestamptz,
  ADD COLUMN failing_reason text;
ALTER TABLE push_channels
  ADD COLUMN failures integer NOT NULL DEFAULT 0,
  ADD COLUMN failing_since timestamptz,
  ADD COLUMN failing_reason text;
