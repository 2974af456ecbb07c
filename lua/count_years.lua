--- @include "lib/achievements"
--- @include "lib/board_scores"
--- @include "lib/calls"
--- @include "lib/points"
--- @include "lib/quests"
--- @include "lib/streaks"

--[[
Counts full years since users' sign-up and completes the anniversaries and composites that follow. Pays points for the
completions and updates leaderboards of points. Computes first, writes last. A year is counted once, so a repeated or
concurrent call changes nothing.

KEYS: those of every call (lib/calls), then the users, each once.
ARGV: those of every call, with the plan of `compileAnniversaryPlan` (its day is the UTC day of the times); body: users, a
      list of { userId, id (of the record, 32 hex), atMs, signUpDay (epoch day), years (full years since then at that time),
      boosts (the user's own, JSON text), zone (to which the offset belongs; '' for none), offsetSeconds (at that time) }.
Returns: one number per user: 1 counted, 0 nothing to count, -1 the user is in another zone (nothing was done; the caller
      must ask again); then the position in the outbox ('' if nothing was written).
Errors: those of Redis only.
Writes: outbox, users, counters, points totals, boards.
Cost: O(users × (size of a user + boards × log N)).
]]
local call = open_call(KEYS, ARGV)
local plan = call.plan
local replies, applied, touched = {}, {}, {}

-- Completes in memory the achievements that follow from a user's years. Returns: the record without its ID, and the
-- leaderboard changes. The plan's triggers do not block, because there is no request to refuse.
local function celebrate(user, state, at, offset, own_boosts)
  local outcome = settle_user(state, plan, at, nil, offset)
  complete_achievements(state, plan.achievements, at, outcome.completed)
  if plan.chains then
    quests.follow(plan, state, outcome, at, outcome.row)
  end
  local ledgers = open_ledgers(plan, state, own_boosts, at)
  fire_triggers(ledgers, {}, state, outcome)
  close_ledgers(ledgers, state)
  local changes = score_call(plan, state, ledgers, outcome)
  local completed = #outcome.completed > 0
  local record = user_record(completed and KIND.completion or KIND.user, user, at, outcome)
  record[RECORD.completed] = completed and outcome.completed or nil
  record[RECORD.points] = points_record(ledgers)
  record[RECORD.version] = plan.version
  return record, changes
end

for n, each in ipairs(call.body.users) do
  local user = read_user({}, call.keys[n], each.userId)
  local state = user.packed and state_of(user)
  local sign_up = state and state[USER.signUp]
  replies[n] = 0
  if state and (state[USER.zone] or '') ~= each.zone then
    replies[n] = -1
  elseif sign_up and sign_up[SIGN_UP.day] == each.signUpDay and sign_up[SIGN_UP.years] < each.years then
    sign_up[SIGN_UP.years] = each.years
    local own_boosts = each.boosts and cjson.decode(each.boosts)
    local record, changes = celebrate(user, state, each.atMs, each.offsetSeconds, own_boosts)
    record[RECORD.id] = each.id
    applied[#applied + 1] = { record, changes }
    user.packed = pack_state(state)
    touched[#touched + 1] = user
    replies[n] = 1
  end
end
replies[#replies + 1] = write_applied(call, applied, touched)
return replies
