-- A change of the time zone that moves the user's today on ends no streak, and makes no two days of one: today becomes
-- the new day, with what was done today and the distance to the day met last. Of a week or month that is left, only
-- what is needed to live on is taken along: a week met before the journey is not the next one met.
-- `streaks`: settled at the zone left. `before` and `after` are rows of the plan's periods: { day, week, month, ... }.
local function shift_streaks(streaks, before, after)
  for frequency = 1, 3 do
    local streak = streaks[frequency]
    local moved = after[frequency] - before[frequency]
    if moved > 0 then
      if streak[1] > 0 then
        local kept = frequency == 1 and math.min(streak[3] + moved, after[1]) or after[frequency] - 1
        streak[3] = math.max(streak[3], kept)
      end
      if frequency == 1 and streak[5] == before[1] then
        streak[5] = after[1]
      end
    end
  end
end
