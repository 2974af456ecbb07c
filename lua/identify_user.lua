--- @include "lib/user_call"

--[[
Creates or changes a user outside of events, in one atomic step: applies sent fields and preferences; a new user gets the initial
freezes, and the points and leaderboard places for creation. Writes nothing if nothing is sent for an existing user.

KEYS: those of a call about one user (lib/user_call).
ARGV: those of such a call; body: userId, id, sent, boosts, mustExist (refuse a user who does not exist).
Returns: a record `user` or a refusal unknownUser, unknownOffset, noAddress, serverOnly, futureSignUp, outOfPoints,
      profileTooLarge, tooLarge, maybeStored (packed, src/packed/record.ts); the user's packed state; the position in the outbox
      after the call.
Errors: those of Redis only.
Writes: outbox, user, counters, points totals, boards.
Cost: O(size of the user + size of the plan + boards × log N).
]]
local call, reply = open_user_call(KEYS, ARGV, true)
if not reply and not call.user.packed and call.body.mustExist then
  reply = unwritten({ [RECORD.kind] = REFUSAL.unknownUser })
end
return reply or run_request(call)
