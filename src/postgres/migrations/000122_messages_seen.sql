-- Who opened a message, followed a link in it or unsubscribed by it, and messages that were withheld from the control group.

SET LOCAL lock_timeout = '5s';
ALTER TABLE email_messages
  -- the first time of each (epoch ms); null: not, or the tenant does not track it
  ADD COLUMN opened_ms bigint,
  ADD COLUMN clicked_ms bigint,
  ADD COLUMN unsubscribed_ms bigint;

-- Known rows satisfy the new condition; checking it would read the whole log while nobody may write.
ALTER TABLE email_messages DROP CONSTRAINT email_messages_status_check;
ALTER TABLE email_messages ADD CONSTRAINT email_messages_status_check
  CHECK (status IN ('waiting', 'sending', 'sent', 'failed', 'dropped', 'unknown', 'withheld')) NOT VALID;
