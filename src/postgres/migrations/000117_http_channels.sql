-- Channels that post e-mails to a provider. Null: SMTP. Otherwise host, port and security are those of its URL, and the password has
-- the values of the secret headers.
SET LOCAL lock_timeout = '5s';
ALTER TABLE message_channels ADD COLUMN http jsonb;
