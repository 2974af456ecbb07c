--- @include "old_keys"

-- Keys a segment, on average: 384 fingerprints of 3 bytes bear the 90 bytes that a Redis key costs, and are searched
-- in under a microsecond.
local SEGMENT_KEYS = 384

local function put_segment(base, segment, parts)
  if parts[1] then
    redis.call('SET', segment_key(base, segment), table.concat(parts))
  else
    redis.call('DEL', segment_key(base, segment))
  end
end

-- Makes two segments of the next one in turn.
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

-- Remembers keys of a bucket as old. They must not be old already: each counts.
-- `base`: key of the tenant's old keys (hash: `s` segments, `n` keys).
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
