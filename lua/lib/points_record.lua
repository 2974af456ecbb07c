-- The points systems that an event changed: { system no, total before, total after, awards }; nil if none.
local function points_record(ledgers)
  local changed
  for i = 1, #ledgers do
    local ledger = ledgers[i]
    if #ledger.awards > 0 then
      changed = changed or {}
      changed[#changed + 1] = { ledger.system.no, ledger.before, ledger.total, ledger.awards }
    end
  end
  return changed
end
