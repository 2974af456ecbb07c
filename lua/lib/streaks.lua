--- @include "users"

-- The user's local day at an earlier time (epoch ms). `left`: the zone's previous offset (seconds) and its end of validity
-- (epoch ms; nil if unlimited); nil if there is none.
local function day_at(state, at, left)
  local offset = left and left[LEFT.untilMs] and at < left[LEFT.untilMs] and left[LEFT.offsetSeconds]
    or state[USER.offsetSeconds]
    or 0
  return math.floor((at + offset * 1000) / 86400000)
end

-- Whether a set of weekdays (see src/domain/periods.ts) contains the weekday of a local day; 1970-01-01 was a Thursday.
local function is_on_weekday(set, day)
  return math.floor(set / 2 ^ ((day + 4) % 7)) % 2 == 1
end

local NO_RULES = {}

-- Whether the user's daily streak survives a local day without activity. The settings and preferences at the beginning of the day
-- decide: a change of either applies from the user's next local midnight.
-- `rule`: the plan's `streak`. `left`: see `day_at`.
local function is_day_off(state, rule, day, left)
  for _, earlier in ipairs(rule.before or NO_RULES) do
    if day_at(state, earlier.ends, left) >= day then
      rule = earlier
      break
    end
  end
  local set, own = rule.off, state[USER.daysOff]
  if own and rule.own then
    local preferred = own[day >= own[DAYS_OFF.fromDay] and DAYS_OFF.set or DAYS_OFF.before]
    set = preferred ~= -1 and preferred or set
  end
  return set ~= nil and is_on_weekday(set, day)
end

-- First day (epoch day) of a month, given as year * 12 + month from 0. Same rule as `periodStart` of src/domain/periods.ts.
local function month_start(month)
  -- Counting years from March puts the leap day at the end.
  local year, from_march = math.floor((month - 2) / 12), (month - 2) % 12
  local leap_days = math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
  return year * 365 + leap_days + math.floor((from_march * 153 + 2) / 5) - 719468
end

-- Whether pauses cover every day from `first` to `last`. `pauses`: { { first day, last day, id }, ... } sorted by first day, or nil.
local function paused(pauses, first, last)
  local day = first
  for _, pause in ipairs(pauses or {}) do
    if pause[PAUSE.firstDay] <= day and pause[PAUSE.lastDay] >= day then
      day = pause[PAUSE.lastDay] + 1
    end
  end
  return day > last
end

-- Joins the results of two settlements (see settle_streaks; nil for nothing), in order.
local function add_settlements(first, after)
  if not first or not after then
    return first or after
  end
  for _, each in ipairs(after) do
    first[#first + 1] = each
  end
  first.earned = (first.earned or 0) + (after.earned or 0)
  for _, each in ipairs(after.beside or {}) do
    first.beside = first.beside or {}
    first.beside[#first.beside + 1] = each
  end
  return first
end

-- Gives the freezes earned up to a local day: `amount` every `interval` days since the user was created or, for older users,
-- since earning was configured. Users imported since then have an earnedDay. Never exceeds the maximum. Same rule as
-- `earnFreezes` of src/domain/streaks/settle.ts.
-- `earn`: { interval in days, amount, maximum, since when (epoch ms) }. `left`: see `day_at`.
-- Writes: the state's freezes and earnedDay. Returns: the number given, and a list of SETTLEMENT with the days, or nil.
local function earn_freezes(state, earn, day, left)
  if (state[USER.importedMs] or state[USER.createdMs]) < earn[EARNING.sinceMs] then
    state[USER.earnedDay] = math.max(state[USER.earnedDay] or 0, day_at(state, earn[EARNING.sinceMs], left))
  elseif not state[USER.earnedDay] then
    state[USER.earnedDay] = day_at(state, state[USER.createdMs], left)
  end
  local times = math.floor((day - state[USER.earnedDay]) / earn[EARNING.days])
  if times <= 0 then
    return 0
  end
  local first, held = state[USER.earnedDay], state[USER.freezes] or 0
  state[USER.earnedDay] = first + times * earn[EARNING.days]
  local after, gains = held, nil
  for time = 1, times do
    if after >= earn[EARNING.max] then
      break
    end
    local count, on = math.min(earn[EARNING.amount], earn[EARNING.max] - after), first + time * earn[EARNING.days]
    after = after + count
    gains = gains or {}
    gains[#gains + 1] = { FREQUENCY.none, SETTLED.earned, on, on, count }
  end
  state[USER.freezes] = after > 0 and after or nil
  return after - held, gains
end

-- First day of a period, from a row of the plan's periods.
local function first_day(frequency, period, row)
  if frequency == FREQUENCY.monthly then
    return month_start(period)
  end
  local days = frequency == FREQUENCY.daily and 1 or 7
  return row[frequency + ROW_OFFSET.start] - (row[frequency] - period) * days
end

-- Adds used freezes and pauses and days off to `settlements`. Adjacent periods become one settlement.
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

-- Earns freezes up to a day. Returns the settlements, with `earned` (their number) and `beside` (their days).
local function earn(state, rule, day, left, settlements)
  local earned, gains = earn_freezes(state, rule.earn, day, left)
  if earned == 0 then
    return settlements
  end
  return add_settlements(settlements, { earned = earned, beside = gains })
end

-- Settles each local midnight after an unmet period, oldest first. `settleStreaks` of src/domain/streaks/settle.ts has the same rule
-- and explains it. `at`: row, left, and `all`: the plan's rule, which lists the previous ones.
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

-- The row of an earlier or equal day than that of `row` (of a plan's periods), with weeks that began on the weekday valid then.
local function row_of(day, row, week_0)
  local week, month = math.floor((day - week_0) / 7), row[ROW.month]
  while month_start(month) > day do
    month = month - 1
  end
  return { day, week, month, day, week_0 + week * 7, month_start(month) }
end

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

-- Handles a change of the first day of the week. A week cut short by it was not missed, because no midnight ended it.
local function begin_weeks(state, day, week_0)
  local streak, week = streak_at[FREQUENCY.weekly], math.floor((day - week_0) / 7)
  if state[streak + STREAK.length] > 0 and state[streak + STREAK.lastPeriod] < week - 1 then
    state[streak + STREAK.lastPeriod] = week - 1
  end
end

-- Settles by the previous rules, each up to the user's local day when that rule ended.
-- Writes: the state's settledMs, the end of the last such rule; everything before it is settled. A later event implies the same.
-- Returns: the settlements, and whether the row's day is before such an end.
local function settle_by_earlier(state, rule, row, left)
  local settlements
  local settled = state[USER.settledMs] or 0
  for n, earlier in ipairs(rule.before) do
    if earlier.ends >= state[USER.updatedMs] and earlier.ends > settled then
      local day = day_at(state, earlier.ends, left)
      -- Activity at that very moment came before the end, so everything is settled except weeks that began again then.
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

-- Settles a user's streaks up to a local day. Streaks whose periods were not met use pauses and freezes or end, and freezes
-- are earned. If there is nothing to do, this costs three comparisons. A day before the streaks' day (a late event, a zone
-- further west) changes nothing.
-- A streak: { length, first day, last period met or excused, ms of the extending event, current period, sums }; -1 means
-- none.
-- `row`: the plan's periods for that day. `rule`: the plan's `streak`. `left`: see `day_at`.
-- Returns: nil, or a list of { frequency, kind (SETTLED), first day, last day, length of a lost streak }, with `earned`, the
-- number of freezes, and `beside`, SETTLEMENTs without a frequency, which replays need.
local function settle_streaks(state, rule, row, left)
  local settlements, passed
  if rule.before then
    settlements, passed = settle_by_earlier(state, rule, row, left)
  end
  if not passed then
    local by_rule = settle_by(state, rule, row, left, rule)
    settlements = settlements and add_settlements(settlements, by_rule) or by_rule
  end
  -- A pause matters until the month and the week in which it ends have passed, on whichever day weeks begin.
  local needed = state[USER.pauses] and math.min(row[ROW.day] - 7, row[ROW.monthStart])
  while state[USER.pauses] and state[USER.pauses][1][PAUSE.lastDay] < needed do
    table.remove(state[USER.pauses], 1)
    state[USER.pauses] = #state[USER.pauses] > 0 and state[USER.pauses] or nil
  end
  return settlements
end

local function settled_record(record, settlements, state)
  if not settlements then
    return
  end
  record[RECORD.due] = 1
  record[RECORD.freezes] = state[USER.freezes] or 0
  record[RECORD.beside] = settlements.beside
  record[RECORD.freezesEarned] = settlements.earned and settlements.earned > 0 and settlements.earned or nil
  if #settlements > 0 then
    record[RECORD.settlements] = {}
    for i, each in ipairs(settlements) do
      record[RECORD.settlements][i] = each
    end
  end
end

-- Settles a user's streaks up to a time (epoch ms). `left`: see day_at.
-- Returns: an outcome { day, second (of the local day), row (of the plan's periods), settlements (see settle_streaks),
-- length (of the streak in the configured frequency), completed (an empty list of achievements) }.
local function settle_user(state, plan, at, left)
  local local_second = math.floor(at / 1000) + (state[USER.offsetSeconds] or 0)
  local day = math.floor(local_second / 86400)
  local row = plan.periods[day - plan.firstDay + 1]
  return {
    day = day,
    second = local_second % 86400,
    row = row,
    settlements = settle_streaks(state, plan.streak, row, left),
    length = state[streak_at[plan.streak.frequency] + STREAK.length],
    completed = {},
    now = at,
  }
end

-- The record of a change to a user that is not an event, with the settlements. `outcome`: see settle_user.
local function user_record(kind, user, at, outcome)
  local record = {
    [RECORD.kind] = kind,
    [RECORD.userId] = user.id,
    [RECORD.atMs] = at,
    [RECORD.day] = outcome.day,
    [RECORD.quests] = outcome.quests,
  }
  settled_record(record, outcome.settlements, user.state)
  return record
end

-- Number of days off that directly follow the day by which the user must act.
local function days_off_ahead(state, rule, day)
  local from = math.max(state[streak_at[FREQUENCY.daily] + STREAK.lastPeriod] + 1, day)
  local count = 0
  while is_day_off(state, rule, from + count) do
    count = count + 1
  end
  return count
end

-- The settled streak in the configured frequency on a local day, as RECORDED_STREAK. `rule`: the plan's `streak`.
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
