--- @include "day_off"
--- @include "streak_at"

-- How many days off follow one another from the day on by which to act.
local function days_off_ahead(state, rule, day)
  local from = math.max(state[streak_at[FREQUENCY.daily] + STREAK.lastPeriod] + 1, day)
  local count = 0
  while is_day_off(state, rule, from + count) do
    count = count + 1
  end
  return count
end

-- The (settled) streak that counts on a local day, as a record holds it: see RECORDED_STREAK.
-- `rule`: the plan's `streak`.
local function streak_record(state, rule, extended, day)
  local streak = streak_at[rule.frequency]
  local record = {
    state[streak + STREAK.length],
    state[streak + STREAK.startDay],
    state[streak + STREAK.lastPeriod],
    extended and 1 or 0,
    state[USER.freezes] or 0,
  }
  if
    (rule.off or rule.own or rule.before)
    and state[streak + STREAK.length] > 0
    and rule.frequency == FREQUENCY.daily
  then
    local count = days_off_ahead(state, rule, day)
    record[RECORDED_STREAK.offDays] = count > 0 and count or nil
  end
  return record
end
