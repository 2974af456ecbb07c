--- @include "streak_at"

-- A change of the time zone that moves the user's today on ends no streak, and makes no two days of one: today becomes
-- the new day, with what was done today and the distance to the day met last. Of a week or month that is left, only
-- what is needed to live on is taken along: a week met before the journey is not the next one met.
-- `state`: its streaks are settled at the zone left. `before` and `after` are rows of the plan's periods: { day, week, month, ... }.
local function shift_streaks(state, before, after)
  for frequency = FREQUENCY.daily, FREQUENCY.monthly do
    local streak = streak_at[frequency]
    local moved = after[frequency] - before[frequency]
    if moved > 0 then
      if state[streak + STREAK.length] > 0 then
        local kept = frequency == FREQUENCY.daily
            and math.min(state[streak + STREAK.lastPeriod] + moved, after[ROW.day])
          or after[frequency] - 1
        state[streak + STREAK.lastPeriod] = math.max(state[streak + STREAK.lastPeriod], kept)
      end
      if frequency == FREQUENCY.daily and state[streak + STREAK.currentPeriod] == before[ROW.day] then
        state[streak + STREAK.currentPeriod] = after[ROW.day]
      end
    end
  end
end
