--- @include "day_at"

-- Gives the freezes that are earned up to a local day: `amount` every `interval` days since the user was first seen,
-- or, for a user from before, since earning was set so. One who was imported since then has an earnedDay. Never above the maximum. See `earnFreezes` of
-- src/domain/settle-streaks.ts.
-- `earn`: { interval in days, amount, maximum, epoch ms since when it is so }. `left`: see `day_at`.
-- Writes: the state's freezes and earnedDay. Returns: how many were given, and a list of
-- SETTLEMENT that says on which days; nil for none.
local function earn_freezes(state, earn, day, left)
  if (state[USER.importedMs] or state[USER.createdMs]) < earn[EARNING.sinceMs] then
    state[USER.earnedDay] = math.max(state[USER.earnedDay] or 0, day_at(state, earn[EARNING.sinceMs], left))
  elseif not state[USER.earnedDay] then
    state[USER.earnedDay] = day_at(state, state[USER.createdMs], left)
  end
  local times = math.floor((day - state[USER.earnedDay]) / earn[EARNING.days])
  if times <= 0 then
    return 0
  end
  local first, held = state[USER.earnedDay], state[USER.freezes] or 0
  state[USER.earnedDay] = first + times * earn[EARNING.days]
  local after, gains = held, nil
  for time = 1, times do
    if after >= earn[EARNING.max] then
      break
    end
    local count, on = math.min(earn[EARNING.amount], earn[EARNING.max] - after), first + time * earn[EARNING.days]
    after = after + count
    gains = gains or {}
    gains[#gains + 1] = { FREQUENCY.none, SETTLED.earned, on, on, count }
  end
  state[USER.freezes] = after > 0 and after or nil
  return after - held, gains
end
