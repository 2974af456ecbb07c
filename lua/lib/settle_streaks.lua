--- @include "earn_freezes"
--- @include "month_start"
--- @include "paused"

-- First day of a period, from a row of the plan's periods.
local function first_day(frequency, period, row)
  if frequency == 3 then
    return month_start(period)
  end
  local days = frequency == 1 and 1 or 7
  return row[frequency + 3] - (row[frequency] - period) * days
end

-- Adds to what is told of the freezes and pauses used; periods that follow one another are told as one.
local function tell_used(told, frequency, kind, first, last)
  local before = told[#told]
  if before and before[1] == frequency and before[2] == kind and before[4] == first - 1 then
    before[4] = last
  else
    told[#told + 1] = { frequency, kind, first, last }
  end
end

-- What each local midnight after an unmet period brought, oldest first: see `settleStreaks` of src/domain/settle-streaks.ts,
-- where the rule is explained. Returns: how many freezes were earned meanwhile.
local function settle_gap(state, rule, frequency, row, told)
  local streak, earned = state.s[frequency], 0
  local current, counts = row[frequency], frequency == rule.frequency
  for period = streak[3] + 1, current - 1 do
    local first, last = first_day(frequency, period, row), first_day(frequency, period + 1, row) - 1
    if counts and rule.earn then
      earned = earned + earn_freezes(state, rule.earn, last)
    end
    if paused(state.pa, first, last) then
      tell_used(told, frequency, 2, first, last)
    elseif counts and rule.frozen and state.fz then
      state.fz = state.fz > 1 and state.fz - 1 or nil
      tell_used(told, frequency, 1, first, last)
    else
      told[#told + 1] = { frequency, 3, streak[2], first - 1, streak[1] }
      streak[1], streak[2] = 0, -1
      break
    end
    streak[3] = period
  end
  return earned
end

-- Brings the streaks of a user to a local day, as the clock would have: streaks whose periods were not met use
-- pauses and freezes or end, freezes are earned. Nothing to do costs three comparisons. A day before the one that
-- they stand at (an event applied late, a zone further west) changes nothing.
-- A streak: { length, first day, last period met or excused, ms of the extending event, current period, sums };
-- -1: none. `row`: of the plan's periods for that day. `rule`: the plan's `streak`.
-- Returns: nil, or what happened: { frequency, kind, first day, last day, length } with kind 1 a freeze was used,
-- 2 a pause was used, 3 the streak of that length was lost; `earned` freezes.
local function settle_streaks(state, rule, row)
  local streaks, told, earned = state.s, nil, 0
  for frequency = 1, 3 do
    local streak, current = streaks[frequency], row[frequency]
    if streak[1] > 0 and streak[3] < current - 1 then
      told = told or {}
      earned = earned + settle_gap(state, rule, frequency, row, told)
    end
  end
  if rule.earn then
    earned = earned + earn_freezes(state, rule.earn, row[1])
  end
  -- A pause counts until the month that it ends in is over, and the week.
  local needed = math.min(row[5], row[6])
  while state.pa and state.pa[1][2] < needed do
    table.remove(state.pa, 1)
    state.pa = #state.pa > 0 and state.pa or nil
  end
  if earned > 0 then
    told = told or {}
    told.earned = earned
  end
  return told
end
