-- Whether every day from `first` to `last` is inside a pause. `pauses`: { { first day, last day, id }, ... } by first
-- day; nil for none.
local function paused(pauses, first, last)
  local day = first
  for _, pause in ipairs(pauses or {}) do
    if pause[PAUSE.firstDay] <= day and pause[PAUSE.lastDay] >= day then
      day = pause[PAUSE.lastDay] + 1
    end
  end
  return day > last
end
