--[[
Counts the users of a points system by ranges of their points, all at one moment.

KEYS: 1 counters of the tenant, 2 points set of the system.
ARGV: two a range: its least and greatest points, as ZCOUNT takes them.
Returns: how many users the tenant has, how many of them have points, the greatest total (0 without any), then how many
      are in each range.
Errors: those of Redis only.
Writes: nothing.
Cost: O(ranges × log N).
]]
local counters, points = KEYS[1], KEYS[2]
local _, greatest = unpack(redis.call('ZREVRANGE', points, 0, 0, 'WITHSCORES'))
local counts = {
  tonumber(redis.call('HGET', counters, COUNTER.users) or 0),
  redis.call('ZCARD', points),
  tonumber(greatest or 0),
}
for at = 1, #ARGV, 2 do
  counts[#counts + 1] = redis.call('ZCOUNT', points, ARGV[at], ARGV[at + 1])
end
return counts
