--[[
Where an idempotency key that is not hot any more is remembered, and as what. Segments are strings of fingerprints of
one width, in no order. There are as many as are needed to hold SEGMENT_KEYS each, one is split at a time (linear
hashing), and what distinguishes segments is not stored: a key costs 35 bits less the depth of its segment, in whole
bytes. The lower 13 bits are the number of its wide bucket (lib/used_keys), so that the old keys of a bucket go
to one segment, or to few.

Among n old keys a new one looks like one of them in n / 2^35 of cases: 1 in 34,000 of a million, 1 % of 343 million.
]]
local HASH_BITS = 35
local BUCKETS = 2 ^ 13
local FIELD_VALUES = 2 ^ 22

local function fingerprint_width(depth)
  return math.ceil((HASH_BITS - depth) / 8)
end

-- The depth that all segments have reached, for a number of segments, and how many there were at that moment.
local function whole_depth(segments)
  local depth, size = 0, 1
  while size * 2 <= segments do
    depth, size = depth + 1, size * 2
  end
  return depth, size
end

-- `value` as `width` bytes, lowest first.
local function fingerprint(value, width)
  local bytes = {}
  for n = 1, width do
    bytes[n] = value % 256
    value = math.floor(value / 256)
  end
  return string.char(unpack(bytes))
end

-- `bucket`: the bucket where the key would be hot, wide or narrow; `field`: as in the bucket.
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

-- Whether a text of fingerprints holds one.
local function holds_fingerprint(text, wanted)
  local at = string.find(text, wanted, 1, true)
  while at and (at - 1) % #wanted ~= 0 do
    at = string.find(text, wanted, at + 1, true)
  end
  return at ~= nil
end

-- Nil: a key that is not hot was never used. Else a token: it may have been, and Postgres knows. As long as the token
-- is the same, no key of its segment became old: so what Postgres said after the token was given still holds.
-- `base`: key of the tenant's old keys; `segments`: how many there are, 0 without old keys; `generation`: the user's.
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

-- What a bucket would hold of the use of a key that is not hot; false: it was not used; or nil and a token: it may have been, and Postgres
-- must be asked. `answers`: what Postgres answered before, LOOKED_UP by number of the event; `n`: that of this event. See `old_key_token`.
local function old_use(base, segments, bucket, field, generation, answers, n)
  local token = old_key_token(base, segments, bucket, field, generation)
  if not token then
    return false
  end
  local answer = answers[tostring(n)]
  if not answer or answer[LOOKED_UP.token] ~= token then
    return nil, token
  end
  return answer[LOOKED_UP.use] ~= '' and answer[LOOKED_UP.use]
end
