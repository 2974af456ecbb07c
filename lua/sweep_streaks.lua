--- @include "lib/board_scores"
--- @include "lib/calls"
--- @include "lib/streaks"

--[[
Settles the streaks of some users of one zone to the day that begins there: what an event would do, for those who send none.
Who has nothing to settle is not touched, so a call repeated, or made late, changes nothing.

KEYS: those of every call (lib/calls), then the users.
ARGV: those of every call, at the time of the midnight, with the plan of `compileSweepPlan`; body: zone ('' for UTC),
      offsetSeconds (from UTC then), untilMs (until when that holds; left out for UTC), idPrefix (24 hex: the ids of the records
      begin with it), users (their ids).
Returns: how many users were changed, the position of the outbox ('' if none was).
Errors: those of Redis only.
Writes: outbox, users, boards.
Cost: O(users × size of a user), and for those who are changed O(boards × log N).
]]
local call = open_call(KEYS, ARGV)
local now, plan, body = call.now, call.plan, call.body
local users, applied, touched = {}, {}, {}
read_users(users, call.keys, body.users)

-- Days off alone are nothing that anybody sees: they are recorded with whatever comes next.
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
  -- A user who is in another zone by now was settled when the zone was changed.
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
