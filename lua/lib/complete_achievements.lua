--- @include "qualifies"

-- Completes what the user qualifies for, again until nothing is new (composites of composites).
-- `most`: the greatest lengths that the streaks had in a replay, by FREQUENCY; nil: those of now.
-- Writes: the state's completions. Appends the numbers to `completed`.
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
