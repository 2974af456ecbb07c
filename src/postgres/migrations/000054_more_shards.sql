-- 256 shards instead of 8. A tenant's shard is its number modulo 256, so each of the old shards is split: what shard 3 held is on the
-- shards 3, 11, 19 … 251 from now on, on the same Redis. The first start of this version does that (src/engine/rebuild/split-shards.ts):
-- a rebuild of Redis from this database, once.
SET LOCAL lock_timeout = '5s';

-- `split_from`: the old shard whose tenants this one takes over; null: it has them, or there was none.
ALTER TABLE outbox_cursors ADD COLUMN split_from integer;

-- Processes of the previous version ask for this column before they accept or rebuild a Redis: it has another name now, so that
-- they can do neither any more. They would write tenants to shards which those are no longer on.
ALTER TABLE redis_epoch RENAME COLUMN installation TO installation_id;

-- A new epoch: the marks in Redis are of an older one, so everything is rebuilt; and no process stores what it reads under an older fence.
UPDATE redis_epoch SET epoch = epoch + 1 WHERE EXISTS (SELECT FROM outbox_cursors);
UPDATE outbox_cursors SET fence = 'rebuild ' || epoch FROM redis_epoch;
INSERT INTO outbox_cursors (shard, stream_id, split_from)
SELECT no, '0-0', no % 8 FROM generate_series(8, 255) AS no WHERE EXISTS (SELECT FROM outbox_cursors);

-- Each tenant stays on its Redis.
INSERT INTO shards (shard, endpoint)
SELECT no, endpoint FROM generate_series(8, 255) AS no JOIN shards ON shard = no % 8;
