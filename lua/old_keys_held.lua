--- @include "lib/idempotency_keys"

--[[
Checks which used idempotency keys the compact form (lib/idempotency_keys) contains.

KEYS: two per idempotency key: the tenant's old keys (hash, and prefix of the segments), the bucket in which it would be if
      it were hot.
ARGV: the field of each idempotency key.
Returns: 1 or 0 for each.
Errors: those of Redis only.
Writes: nothing.
Cost: O(keys × size of a segment).
]]
local held = {}
for n, field in ipairs(ARGV) do
  local base, bucket = unpack(KEYS, n * 2 - 1, n * 2)
  local segments = tonumber(redis.call('HGET', base, OLD_KEYS.segments)) or 0
  held[n] = old_key_token(base, segments, bucket, field) and 1 or 0
end
return held
