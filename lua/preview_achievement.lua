--- @include "lib/read_user"
--- @include "lib/settle_streaks"
--- @include "lib/complete_achievements"

--[[
Looks which of some users would hold an achievement, by what they have done until now. It is the rule that completes
achievements, applied in memory only.

KEYS: the users.
ARGV: 1 now (epoch ms), 2 plan (JSON, see `compilePreviewPlan`), 3 to 5 the last sign-up day (epoch day) whose anniversary is
      over on each of the plan's days ('' where the achievement is none), then one a user: the total of its matching events
      (JSON [whole, micros]; '' where all events count).
Returns: one number a user: 1 holds it or would complete it, 0 neither, -1 there is no such user.
Errors: those of Redis only.
Writes: nothing.
Cost: O(users × size of a user).
]]
local now, plan = tonumber(ARGV[1]), cjson.decode(ARGV[2])
local LATEST, COUNT = 2, 5
local achievement = unpack(plan.achievements)
local users, replies = {}, {}

local function would_hold(state, count)
  local local_second = math.floor(now / 1000) + (state[USER.offsetSeconds] or 0)
  local row = math.floor(local_second / 86400) - plan.firstDay + 1
  settle_streaks(state, plan.streak, plan.periods[row])
  if count ~= '' then
    state[USER.counts][achievement.no] = cjson.decode(count)
  end
  -- Years are counted only while there are anniversaries.
  local sign_up, latest = state[USER.signUp], tonumber(ARGV[LATEST + row])
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
    replies[n] = would_hold(state_of(user), ARGV[COUNT + n]) and 1 or 0
  end
end
return replies
