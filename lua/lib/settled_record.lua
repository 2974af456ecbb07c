-- Adds to a record what the clock has done to the user's streaks by then: `told` of settle_streaks, nil for nothing.
local function settled_record(record, told, state)
  if not told then
    return
  end
  record.y = 1
  record.fz = state.fz or 0
  record.fe = told.earned and told.earned > 0 and told.earned or nil
  if #told > 0 then
    record.w = {}
    for i, each in ipairs(told) do
      record.w[i] = each
    end
  end
end
