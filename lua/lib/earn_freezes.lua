--- @include "day_at"

-- Gives the freezes that are earned up to a local day: `amount` every `interval` days since the user was first seen,
-- or, for a user from before, since earning was set so; never above the maximum. See `earnFreezes` of
-- src/domain/settle-streaks.ts.
-- `earn`: { interval in days, amount, maximum, epoch ms since when it is so }. `left`: see `day_at`.
-- Writes: state.fz, state.fe (the day from which the next interval counts). Returns: how many were given.
local function earn_freezes(state, earn, day, left)
  if state[USER.createdMs] < earn[EARNING.sinceMs] then
    state[USER.earnedDay] = math.max(state[USER.earnedDay] or 0, day_at(state, earn[EARNING.sinceMs], left))
  elseif not state[USER.earnedDay] then
    state[USER.earnedDay] = day_at(state, state[USER.createdMs], left)
  end
  local times = math.floor((day - state[USER.earnedDay]) / earn[EARNING.days])
  if times <= 0 then
    return 0
  end
  state[USER.earnedDay] = state[USER.earnedDay] + times * earn[EARNING.days]
  local held = state[USER.freezes] or 0
  local after = math.max(held, math.min(earn[EARNING.max], held + times * earn[EARNING.amount]))
  state[USER.freezes] = after > 0 and after or nil
  return after - held
end
