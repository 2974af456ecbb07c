--[[
Runs some commands for a rebuild, all or none. Called with what the rebuild believes (src/redis/script.ts), so that one that was
overtaken by another, or finds another process, does nothing.

KEYS: 1 the mark that the rebuild of the shard will set (string). The keys of the commands are of the same hash tag.
ARGV: every command as its number of words and its words.
Returns: 1.
Errors: those of Redis only.
Writes: what the commands say.
Cost: that of the commands.
]]
local at = 1
while at < #ARGV do
  local words = tonumber(ARGV[at])
  redis.call(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
end
return 1
