-- Frequency → where its streak begins in a state: offsets of STREAK go from there.
local streak_at = {
  [FREQUENCY.daily] = USER.streaks,
  [FREQUENCY.weekly] = USER.streaks + STREAK.size,
  [FREQUENCY.monthly] = USER.streaks + 2 * STREAK.size,
}

-- Puts a streak, a list by STREAK, in the place of the one that a state has.
local function put_streak(state, frequency, streak)
  local at = streak_at[frequency]
  for offset = STREAK.length, STREAK.currentPeriod do
    state[at + offset] = streak[1 + offset]
  end
  local sums = streak[1 + STREAK.sums]
  state[at + STREAK.sums] = next(sums) and sums or nil
end
