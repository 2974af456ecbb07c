--- @include "lib/user_call"

--[[
Completes an achievement for a user by call, in one atomic step: sent user fields, the achievement, composites to
a fixed point, their points and boards, outbox. For a user who has it, only the sent fields are applied: the
first completion is kept.

KEYS: those of a call about one user (lib/user_call).
ARGV: those of such a call; body: userId, id, sent, boosts, achievement (no, users: conditions on the user's attributes, locked:
      nobody new gets it).
Returns: as identify_user, the record is `completion` unless the user had the achievement; refusals locked and
      unmetConditions besides.
Errors: those of Redis only.
Writes: outbox, user, counters, points totals, boards.
Cost: O(size of the user + size of the plan + boards × log N).
]]
local call, reply = open_user_call(KEYS, ARGV, true)
return reply or run_said(call, call.body.achievement)
