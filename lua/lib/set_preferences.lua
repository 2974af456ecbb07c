-- Lays sent preferences over a user's; what is not sent stays.
-- `sent`: np notifications, a digit a kind ('-' not sent; src/engine/users/preferences.ts), sp the streak's
-- { on, all, metrics } with -1 and false for what is not sent.
local function set_preferences(state, sent)
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
end
