-- What is sent to webhooks: the log of all messages, kept by the day; the queue, which holds only what waits; and how
-- each webhook fares. Days are epoch days of Laurel's clock, as `created`, `due_ms` and `failing_since` are of it; leases and
-- the breaker go by the server's time.

-- Grows with every message: in the order of commits for messages about one user (src/postgres/webhooks/insert-messages.ts).
CREATE SEQUENCE webhook_sequences AS bigint;

-- A partition a day, made ahead and dropped whole. What is of a day that has none is in the default one, and deleted from it.
CREATE TABLE webhook_messages (
  -- the day on which it was made
  day integer NOT NULL,
  -- the `webhook-id` of every try
  id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  tenant_no integer NOT NULL,
  type text NOT NULL,
  -- null: about no single user
  user_id text,
  sequence bigint NOT NULL,
  -- when what it reports happened or fell due
  at timestamptz NOT NULL,
  created timestamptz NOT NULL,
  -- the body, byte for byte
  payload text NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
  -- status = 'failed', by itself: an index on the status would keep every delivery from being a HOT update
  failed boolean NOT NULL DEFAULT false,
  -- why it was never tried, or is not tried again, where no try says so
  reason text,
  -- oldest first: [{ at, durationMs, status, error, answer }]; `at` in epoch ms of the server's real time
  tries jsonb NOT NULL DEFAULT '[]',
  -- when it was delivered, or given up
  finished timestamptz,
  PRIMARY KEY (id, day)
) PARTITION BY RANGE (day);
CREATE UNIQUE INDEX webhook_messages_of_webhook ON webhook_messages (webhook_id, sequence, day);
CREATE INDEX webhook_messages_failed ON webhook_messages (webhook_id, sequence) WHERE failed;
CREATE INDEX webhook_messages_of_user ON webhook_messages (tenant_no, user_id, sequence) WHERE user_id IS NOT NULL;
CREATE TABLE webhook_messages_default PARTITION OF webhook_messages DEFAULT WITH (fillfactor = 70);

-- What waits to be sent, or to be sent again.
CREATE TABLE webhook_queue (
  webhook_id uuid NOT NULL,
  sequence bigint NOT NULL,
  -- the message in the log
  day integer NOT NULL,
  id uuid NOT NULL,
  -- messages with the same go one after another: a hash of the user; 0: about no single user
  lane integer NOT NULL,
  -- when it may be sent, epoch ms; 0: it was never tried
  due_ms bigint NOT NULL,
  -- tries so far that count for the schedule
  tries smallint NOT NULL DEFAULT 0,
  created timestamptz NOT NULL,
  PRIMARY KEY (webhook_id, sequence)
)
-- Every row is gone soon, and whoever looks for the first one walks over what is left of it.
WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
CREATE INDEX webhook_queue_due ON webhook_queue (webhook_id, due_ms, sequence);

-- A row for each webhook that ever had a message.
CREATE TABLE webhook_state (
  webhook_id uuid PRIMARY KEY,
  tenant_no integer NOT NULL,
  -- the process that sends to it, and until when it may, unless it says so again
  holder uuid,
  held_until timestamptz,
  -- failed tries since the last one that succeeded, and since when
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  -- the breaker is open until then
  open_until timestamptz,
  -- as much waits as may: further messages are not queued
  is_full boolean NOT NULL DEFAULT false,
  -- why Laurel disabled it, and when; as long as nobody enabled it again
  disabled_reason text,
  disabled_at timestamptz
);
