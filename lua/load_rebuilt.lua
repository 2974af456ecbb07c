--[[
Runs some commands for a rebuild, all or none, as long as no other rebuild has taken over.

KEYS: 1 the mark that the rebuild of the shard will set (string). The keys of the commands are of the same hash tag.
ARGV: 1 the mark of this rebuild, then every command as its number of words and its words.
Returns: 1, or 0 and nothing was done: another rebuild is at work, or Redis has lost what was loaded.
Errors: those of Redis only.
Writes: what the commands say.
Cost: that of the commands.
]]
local mark_key = KEYS[1]
local mark = ARGV[1]
if redis.call('GET', mark_key) ~= mark then
  return 0
end
local at = 2
while at < #ARGV do
  local words = tonumber(ARGV[at])
  redis.call(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
end
return 1
