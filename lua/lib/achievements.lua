--- @include "decimals"
--- @include "users"

-- Whether a user who does not have an achievement qualifies for it now. `most`: see complete_achievements.
-- src/engine/recomputations/ledger.ts applies the same rule to stored history.
local function qualifies(achievement, state, most)
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
    local length = state[streak_at[achievement.frequency] + STREAK.length]
    if most then
      length = math.max(length, most[achievement.frequency])
    end
    if length < achievement.length then
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

-- Completes the achievements for which the user qualifies. Repeats until none follows from another.
-- `most`: each streak's greatest length during a replay, by FREQUENCY; nil: the current lengths count.
-- Writes: the state's completions. Appends achievement numbers to `completed`.
local function complete_achievements(state, achievements, now, completed, most)
  local done = state[USER.completions]
  repeat
    local found = false
    for i = 1, #achievements do
      local achievement = achievements[i]
      if not done[achievement.no] and qualifies(achievement, state, most) then
        done[achievement.no] = now
        completed[#completed + 1] = achievement.no
        found = true
      end
    end
  until not found
end
