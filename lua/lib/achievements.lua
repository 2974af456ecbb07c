--- @include "decimals"
--- @include "users"

-- Whether a user who does not have an achievement qualifies for it now. Same rule as in src/rules/achievements.ts.
local function qualifies(achievement, state)
  if achievement.of then
    if not has_all(state[USER.completions], achievement.of) then
      return false
    end
  elseif achievement.years then
    -- Years that the clock has counted so far. An event never counts them itself.
    local sign_up = state[USER.signUp]
    if not sign_up or sign_up[SIGN_UP.years] < achievement.years then
      return false
    end
  elseif achievement.length then
    if state[streak_at[achievement.frequency] + STREAK.length] < achievement.length then
      return false
    end
  else
    local total = state[USER.totals][achievement.metric]
    if achievement.counted then
      total = state[USER.counts][achievement.no]
    end
    if
      not total or not decimal_reaches(total[TOTAL.whole], total[TOTAL.micros], achievement.whole, achievement.micros)
    then
      return false
    end
  end
  return holds(achievement.users, state[USER.attributes])
    and (not achievement.requires or has_all(state[USER.completions], achievement.requires))
end
