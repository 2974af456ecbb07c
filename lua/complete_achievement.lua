--- @include "lib/run_user_call"

--[[
Completes an achievement for a user by call, in one atomic step: sent user fields, the achievement, composites to
a fixed point, their points and boards, outbox. For a user who has it, only the sent fields are applied: the
first completion is kept.

KEYS: as identify_user.
ARGV: 1 to 10 as identify_user, 11 the achievement (JSON): no, users (conditions on the user's attributes), locked
      (no one new gets it).
Returns: a record `c`, or `u` if the user had it, or a refusal z, m, o, l, q, f, g, d (packed, src/packed/record.ts), the
      user's packed state, the position of the outbox after the call.
Errors: those of Redis only.
Writes: outbox, user, counters, points totals, boards.
Cost: O(size of the user + size of the plan + boards × log N).
]]
local achievement = cjson.decode(ARGV[11])
return run_user_call(KEYS, ARGV, achievement, false)
