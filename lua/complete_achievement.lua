--- @include "lib/user_call"

--[[
Completes an achievement for a user on request, in one atomic step: applies sent user fields, completes the achievement and the
composites that follow, pays their points and updates leaderboards. If the user already has the achievement, applies only the sent
fields and keeps the first completion.

KEYS: those of a call about one user (lib/user_call).
ARGV: those of such a call; body: userId, id, sent, boosts, achievement (no; users: conditions on the user's attributes; requires:
      numbers of achievements; locked: no further user may complete it).
Returns: as identify_user, but the record is a `completion` unless the user had the achievement; additional refusals locked,
      unmetConditions and required.
Errors: those of Redis only.
Writes: outbox, user, counters, points totals, boards.
Cost: O(size of the user + size of the plan + boards × log N).
]]
local call, reply = open_user_call(KEYS, ARGV, true)
return reply or run_request(call, call.body.achievement)
