--[[
The compact form of used idempotency keys that are no longer hot, as fingerprints. Postgres decides whether a match is real.

A segment is a string of fingerprints of the same width, unordered. The number of segments grows so that each holds SEGMENT_KEYS on
average; one segment is split at a time (linear hashing). The part of the hash that selects the segment is not stored, so a key
takes 35 bits minus the depth of its segment, rounded up to whole bytes. The lower 13 bits of the hash are the number of the key's
wide bucket (src/redis/idempotency.ts), so the old keys of one bucket are in one segment or a few.

A new key matches one of n old keys with probability n / 2^35: 1 in 34,000 for a million keys, 1 % for 343 million.
]]
local HASH_BITS = 35
local BUCKETS = 2 ^ 13
local FIELD_VALUES = 2 ^ 22

local function fingerprint_width(depth)
  return math.ceil((HASH_BITS - depth) / 8)
end

-- The depth that all segments have reached, given their number, and the number of segments at that moment.
local function whole_depth(segments)
  local depth, size = 0, 1
  while size * 2 <= segments do
    depth, size = depth + 1, size * 2
  end
  return depth, size
end

local function fingerprint(value, width)
  local bytes = {}
  for n = 1, width do
    bytes[n] = value % 256
    value = math.floor(value / 256)
  end
  return string.char(unpack(bytes))
end

-- `bucket`: the bucket, wide or narrow, in which the key would be hot; `field`: its field there.
-- Returns: number of the segment (from 0), fingerprint.
local function old_key_place(bucket, field, segments)
  local of_field = tonumber(string.sub(redis.sha1hex(field), 1, 6), 16) % FIELD_VALUES
  local hash = tonumber(string.match(bucket, ':i:(%x%x%x%x)'), 16) + BUCKETS * of_field
  local depth, size = whole_depth(segments)
  local segment = hash % size
  if segment < segments - size then
    depth, size = depth + 1, size * 2
    segment = hash % size
  end
  return segment, fingerprint(math.floor(hash / size), fingerprint_width(depth))
end

local function segment_key(base, segment)
  return base .. ':' .. string.format('%x', segment)
end

local function holds_fingerprint(text, wanted)
  local at = string.find(text, wanted, 1, true)
  while at and (at - 1) % #wanted ~= 0 do
    at = string.find(text, wanted, at + 1, true)
  end
  return at ~= nil
end

-- Checks whether a key that is not hot may have been used. Returns: nil if it was never used; else a token, and Postgres must be
-- asked. While the token stays the same, no key of the segment has become old, so an answer of Postgres remains valid.
-- `base`: key of the tenant's old keys; `segments`: their number, 0 without old keys; `generation`: the user's.
local function old_key_token(base, segments, bucket, field, generation)
  if segments == 0 then
    return nil
  end
  local segment, wanted = old_key_place(bucket, field, segments)
  local text = redis.call('GET', segment_key(base, segment))
  if not text or not holds_fingerprint(text, wanted) then
    return nil
  end
  return string.format('%.0f:%.0f:%.0f', segments, #text, generation or 0)
end

-- Average number of keys per segment. 384 fingerprints of 3 bytes are worth the 90 bytes that a Redis key costs, and searching
-- them takes less than a microsecond.
local SEGMENT_KEYS = 384

local function put_segment(base, segment, parts)
  if parts[1] then
    redis.call('SET', segment_key(base, segment), table.concat(parts))
  else
    redis.call('DEL', segment_key(base, segment))
  end
end

-- Splits the next segment in turn into two.
local function split_segment(base, segments)
  local depth, size = whole_depth(segments)
  local segment = segments - size
  local text = redis.call('GET', segment_key(base, segment)) or ''
  local width, narrower = fingerprint_width(depth), fingerprint_width(depth + 1)
  local halves = { [0] = {}, {} }
  for at = 1, #text, width do
    local value = 0
    for n = at + width - 1, at, -1 do
      value = value * 256 + string.byte(text, n)
    end
    local half = halves[value % 2]
    half[#half + 1] = fingerprint(math.floor(value / 2), narrower)
  end
  put_segment(base, segment, halves[0])
  put_segment(base, segments, halves[1])
end

-- Adds the keys of a bucket to the tenant's old keys. None of them may be an old key already, because each one is counted.
-- `base`: key of the tenant's old keys (hash, OLD_KEYS: the numbers of segments and keys).
local function add_old_keys(base, bucket, fields)
  local segments = tonumber(redis.call('HGET', base, OLD_KEYS.segments)) or 1
  local added = {}
  for _, field in ipairs(fields) do
    local segment, wanted = old_key_place(bucket, field, segments)
    local parts = added[segment]
    if not parts then
      parts = { redis.call('GET', segment_key(base, segment)) or '' }
      added[segment] = parts
    end
    parts[#parts + 1] = wanted
  end
  for segment, parts in pairs(added) do
    put_segment(base, segment, parts)
  end
  local keys = redis.call('HINCRBY', base, OLD_KEYS.keys, #fields)
  while keys > segments * SEGMENT_KEYS do
    split_segment(base, segments)
    segments = segments + 1
  end
  redis.call('HSET', base, OLD_KEYS.segments, segments)
end

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
