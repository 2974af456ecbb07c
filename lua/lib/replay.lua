--- @include "streaks"

-- Puts a user's streaks as their replay with a late event left them (src/engine/corrections/late-events.ts, which made
-- `late`): what the clock did since then is settled after it, as ever.
-- `late`: streaks { STREAK, ... } by FREQUENCY (nil: they stay as they are), freezes, earned (the day from which the next interval counts; nil: none yet),
-- settlements and beside of what is not stored yet (see settle_streaks), gained (freezes among `beside`).
-- Writes: the state's streaks, freezes and day of earning. Returns: what was settled (see settle_streaks).
local function take_replay(state, late)
  if not late.streaks then
    return nil
  end
  for frequency, streak in ipairs(late.streaks) do
    local sums = {}
    -- JSON has texts for keys.
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

-- Adds to the record of an event that names its time when that was, and what its replay repaired.
-- `occurred`: at (epoch ms), and of a late one day, superseded, repairs.
local function occurred_record(record, occurred)
  record[RECORD.occurredMs] = occurred.at
  record[RECORD.occurredDay] = occurred.day
  if occurred.repairs and (#occurred.repairs > 0 or #occurred.superseded > 0) then
    record[RECORD.repairs], record[RECORD.superseded] = occurred.repairs, occurred.superseded
  end
end
