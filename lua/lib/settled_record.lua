-- Adds to a record what the clock has done to the user's streaks by then: `settlements` of settle_streaks, nil for nothing.
local function settled_record(record, settlements, state)
  if not settlements then
    return
  end
  record[RECORD.due] = 1
  record[RECORD.freezes] = state[USER.freezes] or 0
  record[RECORD.beside] = settlements.beside
  record[RECORD.freezesEarned] = settlements.earned and settlements.earned > 0 and settlements.earned or nil
  if #settlements > 0 then
    record[RECORD.settlements] = {}
    for i, each in ipairs(settlements) do
      record[RECORD.settlements][i] = each
    end
  end
end
