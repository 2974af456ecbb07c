-- The rule of one user's streak: the plan's, with the user's preferences laid over it. A user may always switch the streak
-- off; the other preferences count only where the plan has `rule.personal`.
-- `own`: { on, all, metrics } as 0|1 with -1 for the plan's, and a list as the plan's, empty for the plan's.
-- `rule.personal` lists the metrics there are: a preference for one that was deleted since does not count.
local function streak_rule(rule, own)
  if not own then
    return rule
  end
  local on = rule.on and own[STREAK_RULE.enabled] ~= 0
  if not rule.personal then
    return on == rule.on and rule or { on = on, all = rule.all, metrics = rule.metrics }
  end
  local metrics = {}
  for _, metric in ipairs(own[STREAK_RULE.metrics]) do
    for _, no in ipairs(rule.personal) do
      if metric[THRESHOLD.metric] == no then
        metrics[#metrics + 1] = metric
      end
    end
  end
  return {
    on = on,
    all = own[STREAK_RULE.all] == 1 or own[STREAK_RULE.all] == -1 and rule.all,
    metrics = #metrics > 0 and metrics or rule.metrics,
  }
end
