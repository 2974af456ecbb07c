-- The secret that a webhook had before its latest rotation, and until when it signs too (epoch ms): so that a receiver can
-- take the new one without losing a message. Erased when that time is over.
ALTER TABLE webhook_secrets
  ADD COLUMN previous text,
  ADD COLUMN previous_until_ms bigint,
  ADD CONSTRAINT webhook_secrets_previous CHECK ((previous IS NULL) = (previous_until_ms IS NULL));
CREATE INDEX webhook_secrets_ending ON webhook_secrets (previous_until_ms) WHERE previous_until_ms IS NOT NULL;
