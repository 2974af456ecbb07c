--- @include "qualifies"

-- Completes what the user qualifies for, again until nothing is new (composites of composites).
-- Writes: state.t { achievement no = ms }. Appends the numbers to `completed`.
local function complete_achievements(state, achievements, now, completed)
  local done = state[USER.completions]
  repeat
    local found = false
    for i = 1, #achievements do
      local achievement = achievements[i]
      if not done[achievement.no] and qualifies(achievement, state) then
        done[achievement.no] = now
        completed[#completed + 1] = achievement.no
        found = true
      end
    end
  until not found
end
