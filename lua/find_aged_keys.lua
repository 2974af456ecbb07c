--[[
Finds used idempotency keys in some buckets that are older than a time.

KEYS: the buckets (hashes) of one shard.
ARGV: 1 the time, as a packed use (src/redis/idempotency.ts).
Returns: a list of fields per bucket.
Errors: those of Redis only.
Writes: nothing.
Cost: O(keys in the buckets).
]]
local before = tonumber((unpack(ARGV)))
local found = {}
for n, bucket in ipairs(KEYS) do
  local fields = {}
  local pairs_of = redis.call('HGETALL', bucket)
  for at = 1, #pairs_of, 2 do
    if tonumber(pairs_of[at + 1]) < before then
      fields[#fields + 1] = pairs_of[at]
    end
  end
  found[n] = fields
end
return found
