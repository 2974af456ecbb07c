-- On which Redis each shard is: the name of an entry of REDIS_URL. Filled at the first start, and followed from then on: a shard
-- that is looked for on another server would be rebuilt there, and events that only the right one holds would be left behind.
CREATE TABLE shards (
  shard integer PRIMARY KEY,
  endpoint text NOT NULL
);
