-- E-mails that Laurel sends itself. docs/decisions/0047-an-email-is-sent-at-most-once.md has the order of writes.

CREATE TABLE email_messages (
  -- made from tenant, kind and occasion, so that an occasion has one e-mail
  id uuid PRIMARY KEY,
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  -- as in users' preferences: streak_reminder, achievement_completed, reactivation, recap
  kind text NOT NULL,
  -- when it fell due
  at timestamptz NOT NULL,
  status text NOT NULL CHECK (status IN ('waiting', 'sending', 'sent', 'failed', 'dropped', 'unknown')),
  tries smallint NOT NULL DEFAULT 0,
  reason text,
  -- the notification, until the e-mail has its final status
  payload text,
  -- the next attempt; null while and after it is handed over
  due_ms bigint,
  -- when the last attempt began, and the user's local day (epoch day) then, which counts towards the daily limit
  begun_ms bigint,
  local_day integer,
  finished timestamptz
);
CREATE INDEX email_messages_due ON email_messages (due_ms) WHERE status = 'waiting';
CREATE INDEX email_messages_begun ON email_messages (begun_ms) WHERE status = 'sending';
CREATE INDEX email_messages_of_user ON email_messages (tenant_no, user_id, id);
CREATE INDEX email_messages_finished ON email_messages (finished) WHERE finished IS NOT NULL;
