-- Ends a streak whose last full period was not met. (Pauses and freezes that excuse a period belong here.)
-- A period before the current one (an event applied late, a zone further west) begins nothing anew.
-- A streak: { length, first day, last met period, ms of the extending event, current period, sums }; -1: none.
local function settle_streak(streak, period)
  if streak[1] > 0 and streak[3] < period - 1 then
    streak[1], streak[2] = 0, -1
  end
  if streak[5] < period then
    streak[5], streak[6] = period, {}
  end
end
