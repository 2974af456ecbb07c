-- Adds to a record what the clock has done to the user's streaks by then: `told` of settle_streaks, nil for nothing.
local function settled_record(record, told, state)
  if not told then
    return
  end
  record[RECORD.due] = 1
  record[RECORD.freezes] = state[USER.freezes] or 0
  record[RECORD.freezesEarned] = told.earned and told.earned > 0 and told.earned or nil
  if #told > 0 then
    record[RECORD.settlements] = {}
    for i, each in ipairs(told) do
      record[RECORD.settlements][i] = each
    end
  end
end
