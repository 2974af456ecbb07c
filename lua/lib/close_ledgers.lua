-- Takes the ledgers' totals over into the user's state; a total of 0 is not kept.
local function close_ledgers(ledgers, state)
  for i = 1, #ledgers do
    local ledger = ledgers[i]
    if ledger.total ~= ledger.before then
      state[USER.points][ledger.system.no] = ledger.total > 0 and ledger.total or nil
    end
  end
end
