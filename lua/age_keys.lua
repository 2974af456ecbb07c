--- @include "lib/idempotency_keys"

--[[
Adds used idempotency keys, whose events Postgres must already hold, to the compact form (lib/idempotency_keys), in one atomic step.

KEYS: 1 the tenant's old keys (hash, and prefix of the segments), then the buckets (hashes).
ARGV: 1 `1` to move the keys from their buckets, ignoring those that are no longer there, so the call may be repeated; `0` to add all,
      for a rebuild; then for each bucket the number of fields and the fields.
Returns: the number of keys added.
Errors: those of Redis only.
Writes: buckets, segments, the hash of the old keys.
Cost: O(fields × size of a bucket + buckets × size of a segment).
]]
local old_keys, moves = unpack(KEYS), unpack(ARGV)
local added, at = 0, 2
for n = 2, #KEYS do
  local bucket, fields = KEYS[n], {}
  local count = tonumber(ARGV[at])
  for i = at + 1, at + count do
    if moves ~= '1' or redis.call('HDEL', bucket, ARGV[i]) == 1 then
      fields[#fields + 1] = ARGV[i]
    end
  end
  at = at + count + 1
  if fields[1] then
    add_old_keys(old_keys, bucket, fields)
    added = added + #fields
  end
end
return added
