--- @include "lib/add_old_keys"

--[[
Loads used idempotency keys in the compact form (lib/old_key_place) for a rebuild, all or none, as long as no other
rebuild has taken over.

KEYS: 1 the mark that the rebuild of the shard will set (string), 2 the tenant's old keys (hash, and prefix of the
      segments), then the buckets that the keys would be in if they were hot; they are only read as names.
ARGV: 1 the mark of this rebuild, then for each bucket the number of fields and the fields.
Returns: 1, or 0 and nothing was done: another rebuild is at work, or Redis has lost what was loaded.
Errors: those of Redis only.
Writes: segments, the hash of the old keys.
Cost: O(fields + buckets × size of a segment).
]]
local mark_key, old_keys = KEYS[1], KEYS[2]
local mark = ARGV[1]
if redis.call('GET', mark_key) ~= mark then
  return 0
end
local at = 2
for n = 3, #KEYS do
  local fields = {}
  local count = tonumber(ARGV[at])
  for i = at + 1, at + count do
    fields[#fields + 1] = ARGV[i]
  end
  at = at + count + 1
  add_old_keys(old_keys, KEYS[n], fields)
end
return 1
