--- @include "streaks"

-- Replaces a user's streaks with the result of replaying them with a late event. src/engine/corrections/late-events.ts
-- computes `late`. The clock's later effects are then settled as usual.
-- `late`: streaks { STREAK, ... } by FREQUENCY (nil: unchanged), freezes, earned (the day from which the next earning
-- interval counts; nil: none yet), settlements and beside that are not stored yet (see settle_streaks), gained (number of
-- freezes in `beside`).
-- Writes: the state's streaks, freezes and earnedDay. Returns: the settlements (see settle_streaks).
local function take_replay(state, late)
  if not late.streaks then
    return nil
  end
  for frequency, streak in ipairs(late.streaks) do
    local sums = {}
    -- Keys are strings in JSON.
    for no, sum in pairs(streak[1 + STREAK.sums]) do
      sums[tonumber(no)] = sum
    end
    streak[1 + STREAK.sums] = sums
    put_streak(state, frequency, streak)
  end
  state[USER.freezes] = late.freezes > 0 and late.freezes or nil
  state[USER.earnedDay] = late.earned
  local settlements = late.settlements
  settlements.earned, settlements.beside = late.gained, #late.beside > 0 and late.beside or nil
  return settlements
end

-- Adds the time at which an event occurred, and what its replay repaired, to its record.
-- `occurred`: at (epoch ms); for a late event also day, superseded, repairs.
local function occurred_record(record, occurred)
  record[RECORD.occurredMs] = occurred.at
  record[RECORD.occurredDay] = occurred.day
  if occurred.repairs and (#occurred.repairs > 0 or #occurred.superseded > 0) then
    record[RECORD.repairs], record[RECORD.superseded] = occurred.repairs, occurred.superseded
  end
end
