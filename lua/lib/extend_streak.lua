--- @include "decimal_add"
--- @include "decimal_reaches"

-- Counts a value towards the current period of the (settled) streak at a place in a state (see streak_at), and extends the
-- streak if that meets it. A period before the one begun (an event applied late, a zone further west) begins nothing new.
-- `rule`: all (true: every metric must reach its threshold, false: one), metrics { { no, whole, micros } };
-- without metrics any event of positive value meets the period, and the one that happened first extends the streak. A
-- period once met stays met.
-- Returns: whether this value extended the streak.
local function extend_streak(state, at, rule, event, current, first_day)
  if state[at + STREAK.currentPeriod] < current then
    state[at + STREAK.currentPeriod], state[at + STREAK.sums] = current, nil
  end
  local period, met = state[at + STREAK.currentPeriod], false
  if #rule.metrics == 0 then
    met = event.whole > 0 or event.micros > 0
  else
    local reached, sums = 0, state[at + STREAK.sums]
    for i = 1, #rule.metrics do
      local metric = rule.metrics[i]
      local sum = sums and sums[metric[THRESHOLD.metric]]
      if metric[THRESHOLD.metric] == event.plan.metric then
        sum = sum or { 0, 0 }
        sum[TOTAL.whole], sum[TOTAL.micros] =
          decimal_add(sum[TOTAL.whole], sum[TOTAL.micros], event.whole, event.micros)
        sums = sums or {}
        sums[metric[THRESHOLD.metric]] = sum
        state[at + STREAK.sums] = sums
      end
      if
        sum and decimal_reaches(sum[TOTAL.whole], sum[TOTAL.micros], metric[THRESHOLD.whole], metric[THRESHOLD.micros])
      then
        reached = reached + 1
      end
    end
    met = rule.all and reached == #rule.metrics or not rule.all and reached > 0
  end
  if not met then
    return false
  end
  local occurred = event.occurred
  if state[at + STREAK.lastPeriod] >= period then
    -- Where it happened before the event that extended the streak, it would have done so itself.
    if occurred and #rule.metrics == 0 and state[at + STREAK.lastPeriod] == period then
      state[at + STREAK.extendedMs] = math.min(state[at + STREAK.extendedMs], occurred.at)
    end
    return false
  end
  if state[at + STREAK.length] == 0 then
    state[at + STREAK.startDay] = first_day
  end
  state[at + STREAK.length], state[at + STREAK.lastPeriod], state[at + STREAK.extendedMs] =
    state[at + STREAK.length] + 1, period, occurred and occurred.at or event.now
  return true
end
