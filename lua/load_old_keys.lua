--- @include "lib/old_keys"

--[[
Loads used idempotency keys into the compact form (lib/old_keys) for a rebuild, all or none. The call is guarded by the rebuild's
belief (src/redis/script.ts), so a rebuild that was overtaken by another does nothing.

KEYS: 1 the tenant's old keys (hash, and prefix of the segments), then the buckets in which the keys would be if they were hot; only
      the names of these are used.
ARGV: for each bucket the number of fields and the fields.
Returns: 1.
Errors: those of Redis only.
Writes: segments, the hash of the old keys.
Cost: O(fields + buckets × size of a segment).
]]
local old_keys = unpack(KEYS)
local at = 1
for n = 2, #KEYS do
  local fields = {}
  local count = tonumber(ARGV[at])
  for i = at + 1, at + count do
    fields[#fields + 1] = ARGV[i]
  end
  at = at + count + 1
  add_old_keys(old_keys, KEYS[n], fields)
end
return 1
