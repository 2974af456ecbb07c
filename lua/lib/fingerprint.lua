--- @include "streak_at"

-- What a correction that was computed elsewhere rests on, as text: streaks, freezes, and how many corrections there were. Events
-- that change none of it may come meanwhile. The same as `fingerprint` of src/packed/fingerprint.ts.
local function fingerprint(state)
  local parts = { state[USER.corrections] or 0, state[USER.freezes] or 0, state[USER.earnedDay] or '' }
  for frequency = FREQUENCY.daily, FREQUENCY.monthly do
    local streak = streak_at[frequency]
    for offset = STREAK.length, STREAK.currentPeriod do
      parts[#parts + 1] = string.format('%.17g', state[streak + offset])
    end
    local numbers, sums = {}, state[streak + STREAK.sums] or {}
    for no in pairs(sums) do
      numbers[#numbers + 1] = no
    end
    table.sort(numbers)
    for _, no in ipairs(numbers) do
      local sum = sums[no]
      parts[#parts + 1] = string.format('%d=%.17g+%d', no, sum[TOTAL.whole], sum[TOTAL.micros])
    end
  end
  return table.concat(parts, ' ')
end
