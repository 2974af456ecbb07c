--- @include "old_keys"

-- A bucket stores for each used idempotency key the time (epoch ms) in the ID of the event that used it, and a digest of its body
-- (packedUse in src/redis/idempotency.ts). A replay derives the whole ID from that time and the key.
-- The value's 18 digits exceed a Lua number, so it stays a string here.

-- The tenant's idempotency keys: `base` is the key of its old ones; `segments` their number; `is_large`: it has many keys.
local function tenant_keys(base)
  local segments, large = unpack(redis.call('HMGET', base, OLD_KEYS.segments, OLD_KEYS.large))
  return { base = base, segments = tonumber(segments) or 0, is_large = large ~= false }
end

-- The narrow bucket of a field, given its wide one. src/redis/idempotency.ts has the same rule.
local function narrow_bucket(bucket, field)
  return bucket .. string.byte(field) % USED.narrow
end

-- The use of a hot key, or false. `wide`, `narrow`: its buckets.
local function hot_use(wide, narrow, field, is_large)
  return is_large and redis.call('HGET', narrow, field) or redis.call('HGET', wide, field)
end

-- The use of a key: '' if it is unused, or '?' and a token if only Postgres knows it (`old_key_token`).
local function known_use(tenant, wide, narrow, field, generation)
  local use = hot_use(wide, narrow, field, tenant.is_large)
  if use then
    return use
  end
  local token = old_key_token(tenant.base, tenant.segments, wide, field, generation)
  return token and '?' .. token or ''
end

-- Writes the use of a key that is not hot. A full wide bucket makes the tenant large, permanently; one in eight keys checks
-- this. Later keys go to narrow buckets. Those in wide buckets are found there until they become old.
local function note_use(tenant, wide, narrow, field, use)
  if tenant.is_large then
    redis.call('HSET', narrow, field, use)
    return
  end
  redis.call('HSET', wide, field, use)
  if string.byte(field, 2) % 8 == 0 and redis.call('HLEN', wide) >= USED.wideKeys then
    redis.call('HSET', tenant.base, OLD_KEYS.large, 1)
  end
end
