--- @include "lib/old_keys"

--[[
Moves used idempotency keys, whose events Postgres must already hold, from their buckets to the compact form (lib/old_keys), in one
atomic step. Ignores keys that are no longer in their bucket, so the call may be repeated.

KEYS: 1 the tenant's old keys (hash, and prefix of the segments), then the buckets (hashes).
ARGV: for each bucket the number of fields and the fields.
Returns: the number of keys moved.
Errors: those of Redis only.
Writes: buckets, segments, the hash of the old keys.
Cost: O(fields × size of a bucket + buckets × size of a segment).
]]
local old_keys = unpack(KEYS)
local moved, at = 0, 1
for n = 2, #KEYS do
  local bucket, fields = KEYS[n], {}
  local count = tonumber(ARGV[at])
  for i = at + 1, at + count do
    if redis.call('HDEL', bucket, ARGV[i]) == 1 then
      fields[#fields + 1] = ARGV[i]
    end
  end
  at = at + count + 1
  if fields[1] then
    add_old_keys(old_keys, bucket, fields)
    moved = moved + #fields
  end
end
return moved
