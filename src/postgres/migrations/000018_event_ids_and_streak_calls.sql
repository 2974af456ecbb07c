-- What the IDs of events with an idempotency key are made with, so that nobody outside can choose keys whose events get
-- the same ID. Made here once, however many processes start at the same time; Postgres keeps it with all else, and no other
-- place knows it. 244 random bits: gen_random_uuid() takes them from the operating system.
CREATE TABLE event_id_secret (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  secret bytea NOT NULL CHECK (length(secret) = 32)
);
INSERT INTO event_id_secret (secret) VALUES (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

-- Changes of streaks by administrators that are stored, by the ID of the call: a call whose answer was lost finds here that
-- it was made, when the outbox does not hold it any more. Kept for an hour; calls are tried again for seconds.
CREATE TABLE streak_calls (
  id uuid PRIMARY KEY,
  stored timestamptz NOT NULL DEFAULT now()
);
