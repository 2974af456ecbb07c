--- @include "lib/run_user_call"

--[[
Creates or changes a user outside of events, in one atomic step: sent fields and preferences, at first sight the
initial freezes and the points of creation with their boards, outbox. Nothing sent for a user who is there:
nothing is written.

KEYS: 1 outbox of the shard (stream), 2 counters of the tenant (hash), 3 the user (string). Boards and points totals
      come as prefixes below; same hash tag.
ARGV: 1 now (epoch ms), 2 tenant no, 3 plan of no metric (JSON, see src/catalog/plan.ts), 4 prefix of boards,
      5 prefix of points totals, 6 retry position: '' for a first try, else an outbox position from before it,
      7 user id, 8 id of the call (32 hex), 9 user fields and preferences sent (JSON, ''), 10 the user's own
      boosts (JSON, ''), 11 '1': refuse a user never seen.
Returns: a record `u` or a refusal n, z, m, f, g, d (packed, src/packed/record.ts), the user's packed state, the
      position of the outbox after the call.
Errors: those of Redis only.
Writes: outbox, user, counters, points totals, boards.
Cost: O(size of the user + size of the plan + boards × log N).
]]
local must_exist = ARGV[11] == '1'
return run_user_call(KEYS, ARGV, nil, must_exist)
