-- The UTC day (epoch day) of the user's last event; -1: none yet. A state that an earlier version wrote does not say: there the
-- day of its last change stands for it, which is why that is kept before a call changes it.
local function active_day(state)
  return state[USER.activeDay] or math.floor(state[USER.updatedMs] / 86400000)
end
