--- @include "generation"

-- The state of a user who is seen for the first time; see src/packed/user-fields.ts. `counters`: key of the
-- tenant's counters.
local function new_user(now, freezes, counters)
  local function no_streak()
    return { 0, -1, -1, -1, -1, {} }
  end
  return {
    [USER.createdMs] = now,
    [USER.updatedMs] = now,
    [USER.activeDay] = -1,
    [USER.totals] = {},
    [USER.counts] = {},
    [USER.streaks] = { no_streak(), no_streak(), no_streak() },
    [USER.freezes] = freezes > 0 and freezes or nil,
    [USER.points] = {},
    [USER.completions] = {},
    [USER.boards] = {},
    [USER.generation] = generation_of_new_users(counters),
  }
end
