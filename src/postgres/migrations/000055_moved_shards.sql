-- Of a shard that is moved to another Redis (`laurel shards move`): where to, while that goes on or was interrupted; and
-- where keys of it are left that are to be deleted. `chosen`: it was moved at some time, so that the name of its Redis is more
-- than the address that REDIS_URL happened to have.
ALTER TABLE shards
  ADD COLUMN moving_to text,
  ADD COLUMN left_on text,
  ADD COLUMN chosen boolean NOT NULL DEFAULT false;
