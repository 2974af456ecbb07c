-- Notes in a state, before `updatedMs` is moved, that the user sent an event. Returns whether it is the first of the UTC day.
local function note_active_day(state, now)
  local day = math.floor(now / 86400000)
  if state[USER.activeDay] >= day then
    return false
  end
  state[USER.activeDay] = day
  return true
end
