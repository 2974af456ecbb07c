--[[
Runs commands for a rebuild, all or none. The call is guarded by the rebuild's belief (src/redis/script.ts), so a rebuild that was
overtaken by another, or that reaches another Redis process, does nothing.

KEYS: 1 the mark that the rebuild of the shard will set (string). The keys of the commands have the same hash tag.
ARGV: each command as its number of words and its words. Instead of a command: USED.note, key of the tenant's old keys (hash), wide
      bucket, field and use of an idempotency key, which is stored unless it is already hot.
Returns: 1.
Errors: those of Redis only.
Writes: the keys of the commands.
Cost: that of the commands.
]]
-- Whether the tenant has many keys. `old_keys`: key of its old keys.
local function is_large_tenant(old_keys)
  return redis.call('HGET', old_keys, OLD_KEYS.large) ~= false
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

local at = 1
while at < #ARGV do
  local words, command = unpack(ARGV, at, at + 1)
  words = tonumber(words)
  if command ~= USED.note then
    redis.call(unpack(ARGV, at + 1, at + words))
  else
    local _, old_keys, bucket, field, use = unpack(ARGV, at + 1, at + words)
    local is_large = is_large_tenant(old_keys)
    if not hot_use(bucket, field, is_large) then
      note_use(old_keys, bucket, field, use, is_large)
    end
  end
  at = at + words + 1
end
return 1
