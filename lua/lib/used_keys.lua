-- A bucket stores for each used idempotency key the time (epoch ms) in the ID of the event that used it, and a digest of its body
-- (packedUse in src/redis/idempotency.ts). A replay derives the whole ID from that time and the key.
-- The value's 18 digits exceed a Lua number, so it stays a string here.

local function one_more_key(state, today)
  local used_keys = state[USER.usedKeys]
  if not used_keys or used_keys < today or used_keys >= today + USED_KEYS.day then
    return today + 1
  end
  return used_keys + 1
end

-- The storage of a tenant's used keys: the number of segments of old keys (lib/old_keys; 0 without any), and whether the
-- tenant is large.
-- `old_keys`: key of the tenant's old keys.
local function shape_of_keys(old_keys)
  local segments, large = unpack(redis.call('HMGET', old_keys, OLD_KEYS.segments, OLD_KEYS.large))
  return tonumber(segments) or 0, large ~= false
end

-- The narrow bucket of a field, given its wide one. src/redis/idempotency.ts has the same rule.
local function narrow_bucket(bucket, field)
  return bucket .. string.byte(field) % USED.narrow
end

-- The use of a hot key, or false. `bucket`: its wide bucket.
local function hot_use(bucket, field, is_large)
  return is_large and redis.call('HGET', narrow_bucket(bucket, field), field) or redis.call('HGET', bucket, field)
end

-- Writes the use of a key that is not hot. A full wide bucket makes the tenant large, permanently; one in eight keys checks
-- this. Later keys go to narrow buckets. Those in wide buckets are found there until they become old.
local function note_use(old_keys, bucket, field, use, is_large)
  if is_large then
    redis.call('HSET', narrow_bucket(bucket, field), field, use)
    return
  end
  redis.call('HSET', bucket, field, use)
  if string.byte(field, 2) % 8 == 0 and redis.call('HLEN', bucket) >= USED.wideKeys then
    redis.call('HSET', old_keys, OLD_KEYS.large, 1)
  end
end
