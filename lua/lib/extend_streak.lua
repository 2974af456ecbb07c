--- @include "decimal_add"
--- @include "decimal_reaches"

-- Counts a value towards the current period of a (settled) streak, and extends the streak if that meets it. A period
-- before the one begun (an event applied late, a zone further west) begins nothing anew.
-- `rule`: all (true: every metric must reach its threshold, false: one), metrics { { no, whole, micros } };
-- without metrics any event of positive value meets the period. A period once met stays met.
-- Returns: whether this value extended the streak.
local function extend_streak(streak, rule, event, current, first_day)
  if streak[5] < current then
    streak[5], streak[6] = current, {}
  end
  local period, met = streak[5], false
  if #rule.metrics == 0 then
    met = event.whole > 0 or event.micros > 0
  else
    local reached = 0
    for i = 1, #rule.metrics do
      local metric = rule.metrics[i]
      local sum = streak[6][metric[1]]
      if metric[1] == event.plan.metric then
        sum = sum or { 0, 0 }
        sum[1], sum[2] = decimal_add(sum[1], sum[2], event.whole, event.micros)
        streak[6][metric[1]] = sum
      end
      if sum and decimal_reaches(sum[1], sum[2], metric[2], metric[3]) then
        reached = reached + 1
      end
    end
    met = rule.all and reached == #rule.metrics or not rule.all and reached > 0
  end
  if not met or streak[3] >= period then
    return false
  end
  if streak[1] == 0 then
    streak[2] = first_day
  end
  streak[1], streak[3], streak[4] = streak[1] + 1, period, event.now
  return true
end
