-- Which Redis holds what stands here. Every Redis that Laurel works with carries the mark `<installation>:<epoch>`;
-- each rebuild of Redis begins a new epoch.
CREATE TABLE redis_epoch (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  installation uuid NOT NULL DEFAULT gen_random_uuid(),
  epoch bigint NOT NULL DEFAULT 0
);
INSERT INTO redis_epoch DEFAULT VALUES;

-- The fence: the epoch and the run of the Redis process that outboxes may be stored from at present. What was read from
-- another one comes too late. It stands in the cursors' rows because those are what a persister locks.
-- The progress of the shard's batches of events is moved in the same transaction as the events themselves: a Redis that
-- goes back to an older moment must not process them again.
ALTER TABLE outbox_cursors
  ADD COLUMN fence text NOT NULL DEFAULT '',
  ADD COLUMN batch_progress text NOT NULL DEFAULT '';
