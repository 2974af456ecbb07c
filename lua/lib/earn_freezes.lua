--- @include "day_at"

-- Gives the freezes that are earned up to a local day: `amount` every `interval` days since the user was first seen,
-- or, for a user of before, since earning was set so; never above the maximum. See `earnFreezes` of
-- src/domain/settle-streaks.ts.
-- `earn`: { interval in days, amount, maximum, epoch ms since when it is so }. `left`: see `day_at`.
-- Writes: state.fz, state.fe (the day from which the next interval counts). Returns: how many were given.
local function earn_freezes(state, earn, day, left)
  if state.c < earn[4] then
    state.fe = math.max(state.fe or 0, day_at(state, earn[4], left))
  elseif not state.fe then
    state.fe = day_at(state, state.c, left)
  end
  local times = math.floor((day - state.fe) / earn[1])
  if times <= 0 then
    return 0
  end
  state.fe = state.fe + times * earn[1]
  local held = state.fz or 0
  local after = math.max(held, math.min(earn[3], held + times * earn[2]))
  state.fz = after > 0 and after or nil
  return after - held
end
