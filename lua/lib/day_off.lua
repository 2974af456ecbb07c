--- @include "day_at"

-- Whether a set of weekdays (see src/domain/days-off.ts) has that of a local day; 1970-01-01 was a Thursday.
local function is_on_weekday(set, day)
  return math.floor(set / 2 ^ ((day + 4) % 7)) % 2 == 1
end

local NO_RULES = {}

-- Whether a local day needs nothing for the daily streak of a user. What held when the day began counts: a change of the
-- settings, or of what the user prefers, holds from the user's next local midnight.
-- `rule`: the plan's `streak`. `left`: see `day_at`.
local function is_day_off(state, rule, day, left)
  for _, earlier in ipairs(rule.before or NO_RULES) do
    if day_at(state, earlier.ends, left) >= day then
      rule = earlier
      break
    end
  end
  local set, own = rule.off, state[USER.daysOff]
  if own and rule.own then
    local preferred = own[day >= own[DAYS_OFF.fromDay] and DAYS_OFF.set or DAYS_OFF.before]
    set = preferred ~= -1 and preferred or set
  end
  return set ~= nil and is_on_weekday(set, day)
end
