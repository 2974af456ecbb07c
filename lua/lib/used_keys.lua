-- A bucket stores for each used idempotency key the time (epoch ms) in the ID of the event that used it, and a digest of its body
-- (packedUse in src/redis/idempotency.ts). A replay derives the whole ID from that time and the key.
-- The value's 18 digits exceed a Lua number, so it stays a string here.

-- Whether the tenant has many keys. `old_keys`: key of its old keys.
local function is_large_tenant(old_keys)
  return redis.call('HGET', old_keys, OLD_KEYS.large) ~= false
end

-- The narrow bucket of a field, given its wide one. src/redis/idempotency.ts has the same rule.
local function narrow_bucket(bucket, field)
  return bucket .. string.byte(field) % USED.narrow
end

-- The use of a hot key, or false. `wide`, `narrow`: its buckets.
local function hot_use(wide, narrow, field, is_large)
  return is_large and redis.call('HGET', narrow, field) or redis.call('HGET', wide, field)
end

-- Writes the use of a key that is not hot. A full wide bucket makes the tenant large, permanently; one in eight keys checks
-- this. Later keys go to narrow buckets. Those in wide buckets are found there until they become old.
local function note_use(old_keys, wide, narrow, field, use, is_large)
  if is_large then
    redis.call('HSET', narrow, field, use)
    return
  end
  redis.call('HSET', wide, field, use)
  if string.byte(field, 2) % 8 == 0 and redis.call('HLEN', wide) >= USED.wideKeys then
    redis.call('HSET', old_keys, OLD_KEYS.large, 1)
  end
end
