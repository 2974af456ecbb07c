-- A streak as a record tells it: { length, first day, last met period, extended 0|1, freezes left }.
local function streak_record(streak, extended, state)
  return { streak[1], streak[2], streak[3], extended and 1 or 0, state.fz or 0 }
end
