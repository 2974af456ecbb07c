--- @include "day_off"

-- How many days off follow one another from the day on by which to act.
local function days_off_ahead(state, rule, day)
  local from = math.max(state[USER.streaks][FREQUENCY.daily][STREAK.lastPeriod] + 1, day)
  local count = 0
  while is_day_off(state, rule, from + count) do
    count = count + 1
  end
  return count
end

-- The (settled) streak that counts on a local day, as a record holds it: see RECORDED_STREAK.
-- `rule`: the plan's `streak`.
local function streak_record(state, rule, extended, day)
  local streak = state[USER.streaks][rule.frequency]
  local record = {
    streak[STREAK.length],
    streak[STREAK.startDay],
    streak[STREAK.lastPeriod],
    extended and 1 or 0,
    state[USER.freezes] or 0,
  }
  if (rule.off or rule.own or rule.before) and streak[STREAK.length] > 0 and rule.frequency == FREQUENCY.daily then
    local count = days_off_ahead(state, rule, day)
    record[RECORDED_STREAK.offDays] = count > 0 and count or nil
  end
  return record
end
