--- @include "lib/idempotency_keys"

--[[
Runs commands for a rebuild, all or none. The call is guarded by the rebuild's belief (src/redis/script.ts), so a rebuild that was
overtaken by another, or that reaches another Redis process, does nothing.

KEYS: 1 the mark that the rebuild of the shard will set (string). The keys of the commands have the same hash tag.
ARGV: each command as its number of words and its words. Instead of a command: USED.note, key of the tenant's old keys (hash), wide
      bucket, field and use of an idempotency key, which is stored unless it is already hot.
Returns: 1.
Errors: those of Redis only.
Writes: the keys of the commands.
Cost: that of the commands.
]]
local at = 1
while at < #ARGV do
  local words, command = unpack(ARGV, at, at + 1)
  words = tonumber(words)
  if command ~= USED.note then
    redis.call(unpack(ARGV, at + 1, at + words))
  else
    local _, old_keys, bucket, field, use = unpack(ARGV, at + 1, at + words)
    local tenant, narrow = tenant_keys(old_keys), narrow_bucket(bucket, field)
    if not hot_use(bucket, narrow, field, tenant.is_large) then
      note_use(tenant, bucket, narrow, field, use)
    end
  end
  at = at + words + 1
end
return 1
