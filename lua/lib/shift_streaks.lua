-- A change of the time zone moves the user's today. Moving it forward takes the last met period along, so that
-- the days skipped cost no streak and the same day cannot be met twice; moving it back changes nothing: what is
-- met stays met until the date has caught up.
-- `before` and `after` are rows of the plan's periods: { day, week, month, ... }.
local function shift_streaks(streaks, before, after)
  for frequency = 1, 3 do
    local streak = streaks[frequency]
    local moved = after[frequency] - before[frequency]
    if moved > 0 and streak[3] ~= -1 then
      streak[3] = math.max(streak[3], math.min(streak[3] + moved, after[frequency]))
      streak[5] = streak[5] == before[frequency] and after[frequency] or streak[5]
    end
  end
end
