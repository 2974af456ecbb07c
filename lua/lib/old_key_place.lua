--[[
Where an idempotency key that is not hot any more is remembered, and as what. Segments are strings of fingerprints of
one width, in no order. There are as many as are needed to hold SEGMENT_KEYS each, one is split at a time (linear
hashing), and what distinguishes segments is not stored: a key costs 35 bits less the depth of its segment, in whole
bytes. The lower 13 bits are the number of its wide bucket (lib/used_key), so that the old keys of a bucket go
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
