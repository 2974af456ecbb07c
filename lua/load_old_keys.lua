--- @include "lib/add_old_keys"

--[[
Loads used idempotency keys in the compact form (lib/old_keys) for a rebuild, all or none. Called with what
the rebuild believes (src/redis/script.ts), so that one that was overtaken by another does nothing.

KEYS: 1 the tenant's old keys (hash, and prefix of the segments), then the buckets that the keys would be in if they were
      hot; they are only read as names.
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
