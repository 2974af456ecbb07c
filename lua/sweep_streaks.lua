--- @include "lib/board_scores"
--- @include "lib/calls"
--- @include "lib/streaks"

--[[
Settles the streaks of some users of one zone up to the day that begins there, as an event would, for users who send none. Does not
touch users with nothing to settle, so a repeated or late call changes nothing.

KEYS: those of every call (lib/calls), then the users.
ARGV: those of every call, at the time of the midnight, with the plan of `compileSweepPlan`; body: zone ('' for UTC), offsetSeconds
      (from UTC at that time), untilMs (end of the offset's validity; missing for UTC), idPrefix (24 hex: the beginning of the
      records' IDs), users (their IDs).
Returns: the number of users changed, the position in the outbox ('' if there were none).
Errors: those of Redis only.
Writes: outbox, users, boards.
Cost: O(users × size of a user), plus O(boards × log N) per changed user.
]]
local call = open_call(KEYS, ARGV)
local now, plan, body = call.now, call.plan, call.body
local users, applied, touched = {}, {}, {}
read_users(users, call.keys, body.users)

-- Days off alone are invisible, so they are recorded with the next change.
local function is_seen(settlements)
  for _, each in ipairs(settlements) do
    if each[SETTLEMENT.kind] ~= SETTLED.off then
      return true
    end
  end
  return (settlements.earned or 0) > 0
end

for n, user in ipairs(users) do
  local state = user.packed and state_of(user)
  -- A user who has moved to another zone was settled at that change.
  local left = state and { state[USER.offsetSeconds] or 0, state[USER.offsetUntilMs] }
  local outcome
  if state and (state[USER.zone] or '') == body.zone then
    if body.untilMs then
      state[USER.offsetSeconds], state[USER.offsetUntilMs] = body.offsetSeconds, body.untilMs
    end
    outcome = settle_user(state, plan, now, left, body.offsetSeconds)
  end
  if outcome and outcome.settlements and is_seen(outcome.settlements) then
    local record = user_record(KIND.streaks, user, now, outcome)
    record[RECORD.id] = body.idPrefix .. string.format('%04x0000', n)
    applied[#applied + 1] = { record, score_call(plan, state, {}, outcome) }
    user.packed = pack_state(state)
    touched[#touched + 1] = user
  end
end
return { #applied, write_applied(call, applied, touched) }
