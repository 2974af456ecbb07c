--- @include "qualifies"

-- Takes achievements from a user, each before those that need it, with what they awarded; one that the user qualifies for still stays.
-- `reversal`: revoked, a list of { achievement, awards }.
-- Writes: the state's completions, reversal.awards. Returns: a list of COMPLETED.
local function revoke_achievements(state, reversal)
  local revoked = {}
  for _, each in ipairs(reversal.revoked) do
    local no = each.achievement.no
    local completed = state[USER.completions][no]
    if completed and not qualifies(each.achievement, state) then
      revoked[#revoked + 1] = { no, completed }
      state[USER.completions][no] = nil
      for _, award in ipairs(each.awards) do
        reversal.awards[#reversal.awards + 1] = award
      end
    end
  end
  return revoked
end
