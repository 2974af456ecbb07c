--- @include "lib/user_call"

--[[
Imports a user, in one atomic step: the state, leaderboard places, the tenant's counts and points totals, and, through the
outbox, the history for Postgres. Refuses an ID that is already in use. A repeated call changes nothing.

KEYS: those of a call about one user (lib/user_call), then the sorted sets that the user enters and the sets that list their
      groups.
ARGV: those of such a call; body: userId, id, import (its name), counters (fields of the tenant's counters to increment),
      sets (per key the score and the member, or the group); states: the record `imported`, the state without its generation.
Returns: a map of the kind `imported`, or a refusal alreadyImported, userExists, tooLarge, profileTooLarge, maybeStored
      (packed); ''; the position in the outbox ('' if nothing was written).
Errors: those of Redis only.
Writes: outbox, user, counters, points totals, boards.
Cost: O(size of the user + KEYS × log N).
]]
local call, earlier = open_user_call(KEYS, ARGV, true)
if earlier then
  return earlier
end
local user, body, counters = call.user, call.body, call.counters
if user.packed then
  local is_own = state_of(user)[USER.importedBy] == body.import
  return unwritten({ [RECORD.kind] = is_own and REFUSAL.alreadyImported or REFUSAL.userExists })
end
local record, brought = unpack(call.states)
local state = unpack_state(brought)
state[USER.importedBy] = body.import
state[USER.generation] = generation_of_new_users(counters)
user.packed = pack_state(state)
local full = lack_of_room(state, user.packed)
if full then
  return unwritten({ [RECORD.kind] = full })
end

for _, field in ipairs(body.counters) do
  hold_count(counters, field)
end
for system_no, total in pairs(state[USER.points] or {}) do
  hold_total(call.points_prefix .. system_no, 0, total)
end
local stays = state[USER.teams] or {}
for at = 1, #stays, STAY.size do
  local no, run_day = stays[at], stays[at + STAY.runDay]
  -- An imported user has one stay per run.
  teams.hold(call.board_prefix, no, run_day, teams.all(state, no, run_day, 1) or {})
end
for n, key in ipairs(call.keys) do
  local set = body.sets[n]
  if set.score then
    hold_score(key, set.score, set.member)
  else
    redis.call('SADD', key, set.group)
  end
end
local position = write_users(call, { record }, { user })
return { cmsgpack.pack({ [RECORD.kind] = KIND.imported }), '', position }
