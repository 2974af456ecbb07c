--- @include "generation"
--- @include "streak_at"

local NO_STREAK = { 0, -1, -1, -1, -1, {} }

-- The state of a user who is seen for the first time; see src/packed/user-fields.ts. `counters`: key of the
-- tenant's counters.
local function new_user(now, freezes, counters)
  local state = {
    [USER.createdMs] = now,
    [USER.updatedMs] = now,
    [USER.activeDay] = -1,
    [USER.totals] = {},
    [USER.counts] = {},
    [USER.freezes] = freezes > 0 and freezes or nil,
    [USER.points] = {},
    [USER.completions] = {},
    [USER.boards] = {},
    [USER.generation] = generation_of_new_users(counters),
  }
  for frequency = FREQUENCY.daily, FREQUENCY.monthly do
    put_streak(state, frequency, NO_STREAK)
  end
  return state
end
