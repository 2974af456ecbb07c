-- Lays sent preferences over those of a user whose streaks are settled to the local day; what is not sent stays.
-- `sent`: np notifications, a digit a kind ('-' not sent; src/engine/users/preferences.ts), sp the streak's
-- { on, all, metrics } with -1 and false for what is not sent, of days off, which hold from the next day on.
local function set_preferences(state, sent, day)
  if sent[SENT.notifications] then
    local merged = {}
    for i = 1, #sent[SENT.notifications] do
      local digit = string.sub(sent[SENT.notifications], i, i)
      merged[i] = digit ~= '-' and digit
        or state[USER.notifications] and string.sub(state[USER.notifications], i, i)
        or '-'
    end
    state[USER.notifications] = table.concat(merged)
  end
  if sent[SENT.streakRule] then
    local own = state[USER.streakRule] or { -1, -1, {} }
    for i = STREAK_RULE.enabled, STREAK_RULE.all do
      own[i] = sent[SENT.streakRule][i] ~= -1 and sent[SENT.streakRule][i] or own[i]
    end
    own[STREAK_RULE.metrics] = sent[SENT.streakRule][STREAK_RULE.metrics] or own[STREAK_RULE.metrics]
    state[USER.streakRule] = own
  end
  if sent[SENT.daysOff] then
    local own = state[USER.daysOff]
    local before = own and own[day >= own[DAYS_OFF.fromDay] and DAYS_OFF.set or DAYS_OFF.before] or -1
    state[USER.daysOff] = { sent[SENT.daysOff], day + 1, before }
  end
end
