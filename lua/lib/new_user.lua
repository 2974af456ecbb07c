--- @include "generation"

-- The state of a user who is seen for the first time; see src/redis/state.ts for its fields. KEYS[2]: the counters.
local function new_user(now, freezes)
  local function no_streak()
    return { 0, -1, -1, -1, -1, {} }
  end
  return {
    c = now,
    up = now,
    m = {},
    f = {},
    s = { no_streak(), no_streak(), no_streak() },
    fz = freezes > 0 and freezes or nil,
    p = {},
    t = {},
    b = {},
    g = generation_of_new_users(),
  }
end
