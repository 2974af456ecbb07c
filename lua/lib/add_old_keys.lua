--- @include "old_keys"

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
