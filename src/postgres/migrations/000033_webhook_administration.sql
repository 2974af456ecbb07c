-- The secret that a webhook had before its latest rotation, and until when it signs too (epoch ms): so that a receiver can
-- take the new one without losing a message. Erased when that time is over.
ALTER TABLE webhook_secrets
  ADD COLUMN previous text,
  ADD COLUMN previous_until_ms bigint,
  ADD CONSTRAINT webhook_secrets_previous CHECK ((previous IS NULL) = (previous_until_ms IS NULL));
CREATE INDEX webhook_secrets_ending ON webhook_secrets (previous_until_ms) WHERE previous_until_ms IS NOT NULL;

-- An example that an administrator asked for: it reports nothing that happened.
ALTER TABLE webhook_messages ADD COLUMN test boolean NOT NULL DEFAULT false;

-- What an administrator asked to be sent again, and how far that is.
CREATE TABLE webhook_resends (
  id uuid PRIMARY KEY,
  webhook_id uuid NOT NULL,
  tenant_no integer NOT NULL,
  -- which messages: made from and before (epoch ms, null: no bound), in this state, of these types (null: of all)
  from_ms bigint,
  to_ms bigint,
  status text NOT NULL CHECK (status IN ('delivered', 'failed')),
  types text[],
  -- looked through up to there, of what was there when it was asked for
  after_sequence bigint NOT NULL DEFAULT 0,
  last_sequence bigint NOT NULL,
  -- messages queued so far, and in all; null: not counted yet
  resent bigint NOT NULL DEFAULT 0,
  total bigint,
  requested timestamptz NOT NULL,
  finished timestamptz
);
CREATE INDEX webhook_resends_open ON webhook_resends (requested, id) WHERE finished IS NULL;
CREATE INDEX webhook_resends_of_webhook ON webhook_resends (webhook_id, requested);
