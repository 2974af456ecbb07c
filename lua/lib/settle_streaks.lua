--- @include "add_settlements"
--- @include "day_at"
--- @include "day_off"
--- @include "earn_freezes"
--- @include "month_start"
--- @include "paused"
--- @include "streak_at"

-- First day of a period, from a row of the plan's periods.
local function first_day(frequency, period, row)
  if frequency == FREQUENCY.monthly then
    return month_start(period)
  end
  local days = frequency == FREQUENCY.daily and 1 or 7
  return row[frequency + ROW_OFFSET.start] - (row[frequency] - period) * days
end

-- Adds to what is settlements of the freezes and pauses used and of days off; periods that follow one another are settlements as one.
local function add_used(settlements, frequency, kind, first, last)
  local before = settlements[#settlements]
  if
    before
    and before[SETTLEMENT.frequency] == frequency
    and before[SETTLEMENT.kind] == kind
    and before[SETTLEMENT.lastDay] == first - 1
  then
    before[SETTLEMENT.lastDay] = last
  else
    settlements[#settlements + 1] = { frequency, kind, first, last }
  end
end

-- Earns what is earned up to a day. Returns the settlements with it: `earned`, how many, and `beside`, on which days.
local function earn(state, rule, day, left, settlements)
  local earned, gains = earn_freezes(state, rule.earn, day, left)
  if earned == 0 then
    return settlements
  end
  return add_settlements(settlements, { earned = earned, beside = gains })
end

-- What each local midnight after an unmet period brought, oldest first: see `settleStreaks` of src/domain/settle-streaks.ts,
-- where the rule is explained. `at`: row, left, and `all`: the plan's rule with those before it.
local function settle_gap(state, rule, frequency, settlements, at)
  local streak, row, left = streak_at[frequency], at.row, at.left
  local current, counts = row[frequency], frequency == rule.frequency
  for period = state[streak + STREAK.lastPeriod] + 1, current - 1 do
    local first, last = first_day(frequency, period, row), first_day(frequency, period + 1, row) - 1
    if counts and rule.earn then
      earn(state, rule, last, left, settlements)
    end
    if frequency == FREQUENCY.daily and is_day_off(state, at.all, first, left) then
      add_used(settlements, frequency, SETTLED.off, first, last)
    elseif paused(state[USER.pauses], first, last) then
      add_used(settlements, frequency, SETTLED.pause, first, last)
    elseif counts and rule.frozen and state[USER.freezes] then
      state[USER.freezes] = state[USER.freezes] > 1 and state[USER.freezes] - 1 or nil
      add_used(settlements, frequency, SETTLED.freeze, first, last)
    else
      settlements[#settlements + 1] =
        { frequency, SETTLED.lost, state[streak + STREAK.startDay], first - 1, state[streak + STREAK.length] }
      state[streak + STREAK.length], state[streak + STREAK.startDay] = 0, -1
      break
    end
    state[streak + STREAK.lastPeriod] = period
  end
end

-- The row (of a plan's periods) of a day up to that of a row, in weeks that begin as they did then.
local function row_of(day, row, week_0)
  local week, month = math.floor((day - week_0) / 7), row[ROW.month]
  while month_start(month) > day do
    month = month - 1
  end
  return { day, week, month, day, week_0 + week * 7, month_start(month) }
end

-- `all`: the plan's rule with those before it.
local function settle_by(state, rule, row, left, all)
  local settlements
  for frequency = FREQUENCY.daily, FREQUENCY.monthly do
    local streak, current = streak_at[frequency], row[frequency]
    if state[streak + STREAK.length] > 0 and state[streak + STREAK.lastPeriod] < current - 1 then
      settlements = settlements or {}
      settle_gap(state, rule, frequency, settlements, { row = row, left = left, all = all })
    end
  end
  if rule.earn then
    settlements = earn(state, rule, row[ROW.day], left, settlements)
  end
  return settlements
end

-- Weeks begin on another day from a day on. A week that is cut off by that was not missed: no midnight ended it.
local function begin_weeks(state, day, week_0)
  local streak, week = streak_at[FREQUENCY.weekly], math.floor((day - week_0) / 7)
  if state[streak + STREAK.length] > 0 and state[streak + STREAK.lastPeriod] < week - 1 then
    state[streak + STREAK.lastPeriod] = week - 1
  end
end

-- Settles by the previous rules, each up to the user's local day when it ended.
-- Writes: the state's settledMs, when the last of those ended by which everything is settled; an event after it says the same.
-- Returns: what happened; whether the day of the row itself lies before such an end.
local function settle_by_earlier(state, rule, row, left)
  local settlements
  local settled = state[USER.settledMs] or 0
  for n, earlier in ipairs(rule.before) do
    if earlier.ends >= state[USER.updatedMs] and earlier.ends > settled then
      local day = day_at(state, earlier.ends, left)
      -- What was done at that very moment was done before it: all is settled, but for weeks that began again then.
      if earlier.ends > state[USER.updatedMs] then
        local then_row = row_of(math.min(day, row[ROW.day]), row, earlier.week)
        settlements = add_settlements(settlements, settle_by(state, earlier, then_row, left, rule))
      end
      if day > row[ROW.day] then
        return settlements, true
      end
      local following = rule.before[n + 1]
      begin_weeks(state, day, following and following.week or row[ROW.weekStart] - row[ROW.week] * 7)
      state[USER.settledMs] = earlier.ends
    end
  end
  return settlements, false
end

-- Brings the streaks of a user to a local day, as the clock would have: streaks whose periods were not met use
-- pauses and freezes or end, freezes are earned. Nothing to do costs three comparisons. A day before theirs
-- (an event applied late, a zone further west) changes nothing.
-- A streak: { length, first day, last period met or excused, ms of the extending event, current period, sums };
-- -1: none. `row`: of the plan's periods for that day. `rule`: the plan's `streak`. `left`: see `day_at`.
-- Returns: nil, or what happened: { frequency, kind, first day, last day, length } with kind 1 a freeze was used,
-- 2 a pause was used, 3 the streak of that length was lost, 6 the days were days off; `earned` freezes, and `beside`: what
-- the streaks' replay goes by beside that (SETTLEMENT of no frequency).
local function settle_streaks(state, rule, row, left)
  local settlements, passed
  if rule.before then
    settlements, passed = settle_by_earlier(state, rule, row, left)
  end
  if not passed then
    local by_rule = settle_by(state, rule, row, left, rule)
    settlements = settlements and add_settlements(settlements, by_rule) or by_rule
  end
  -- A pause counts until the month that it ends in has passed, and the week, on whichever day weeks begin.
  local needed = state[USER.pauses] and math.min(row[ROW.day] - 7, row[ROW.monthStart])
  while state[USER.pauses] and state[USER.pauses][1][PAUSE.lastDay] < needed do
    table.remove(state[USER.pauses], 1)
    state[USER.pauses] = #state[USER.pauses] > 0 and state[USER.pauses] or nil
  end
  return settlements
end
