--- @include "lib/users_from"

--[[
Counts the users of a points system by ranges of their points, all at one moment.

KEYS: 1 counters of the tenant, 2 counts of the totals of the system (hash, lib/points_totals).
ARGV: two a range: its least and greatest points; Infinity: no greatest.
Returns: how many users the tenant has, how many of them have points, the greatest total (0 without any), then how many
      are in each range; those without points are in none.
Errors: those of Redis only.
Writes: nothing.
Cost: O(ranges × digits of their bounds).
]]
local counters, totals = KEYS[1], KEYS[2]
local greatest = greatest_total(totals)
-- Most ranges begin where another one ends.
local known = {}
local function users_of(from)
  known[from] = known[from] or users_from(totals, from, greatest)
  return known[from]
end

local counts = { tonumber(redis.call('HGET', counters, COUNTER.users) or 0), users_of(1), greatest }
for at = 1, #ARGV, 2 do
  local from, behind = tonumber(ARGV[at]), tonumber(ARGV[at + 1]) + 1
  counts[#counts + 1] = from < behind and users_of(from) - users_of(behind) or 0
end
return counts
