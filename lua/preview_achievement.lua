--- @include "lib/achievements"
--- @include "lib/remembered"
--- @include "lib/streaks"

--[[
Checks which users have an achievement or would complete it by their activity so far. Applies the real rule for completing
achievements, in memory only.

KEYS: the users.
ARGV: 1 now (epoch ms), 2 plan (JSON, see `compilePreviewPlan`), 3 more (JSON): latest (for an anniversary: per day of the plan, the
      last sign-up day, an epoch day, whose anniversary has passed), counts (if not all events count: the user's total of matching
      events, TOTAL, one per user).
Returns: one number per user: 1 has it or would complete it, 0 neither, -1 the user does not exist.
Errors: those of Redis only.
Writes: nothing.
Cost: O(users × size of a user).
]]
local now, plan, more = unpack(ARGV)
now, plan, more = tonumber(now), plan_of(plan), cjson.decode(more)
local achievement = unpack(plan.achievements)
local users, replies = {}, {}

local function would_hold(state, count)
  local outcome = settle_user(state, plan, now)
  if count then
    state[USER.counts][achievement.no] = count
  end
  -- Redis counts years only while the catalog has anniversaries.
  local sign_up, latest = state[USER.signUp], more.latest and more.latest[outcome.day - plan.firstDay + 1]
  if sign_up and latest then
    sign_up[SIGN_UP.years] = sign_up[SIGN_UP.day] <= latest and achievement.years or 0
  end
  complete_achievements(state, plan.achievements, now, {})
  return state[USER.completions][achievement.no] ~= nil
end

read_users(users, KEYS, KEYS)
for n, key in ipairs(KEYS) do
  local user = users[key]
  replies[n] = -1
  if user.packed then
    replies[n] = would_hold(state_of(user), more.counts and more.counts[n]) and 1 or 0
  end
end
return replies
