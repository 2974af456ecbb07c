--- @include "lib/used_keys"

--[[
Runs some commands for a rebuild, all or none. Called with what the rebuild believes (src/redis/script.ts), so that one that was
overtaken by another, or finds another process, does nothing.

KEYS: 1 the mark that the rebuild of the shard will set (string). The keys of the commands are of the same hash tag.
ARGV: every command as its number of words and its words; or USED.note, the key of the tenant's old keys
      (hash), wide bucket, field and use of an idempotency key, which is noted unless it is hot already (lib/used_keys).
Returns: 1.
Errors: those of Redis only.
Writes: what the commands say.
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
    local _, is_large = shape_of_keys(old_keys)
    if not hot_use(bucket, field, is_large) then
      note_use(old_keys, bucket, field, use, is_large)
    end
  end
  at = at + words + 1
end
return 1
