-- A streak as a record tells it: { length, first day, last met period, extended 0|1, freezes left }.
local function streak_record(streak, extended, state)
  return {
    streak[STREAK.length],
    streak[STREAK.startDay],
    streak[STREAK.lastPeriod],
    extended and 1 or 0,
    state[USER.freezes] or 0,
  }
end
