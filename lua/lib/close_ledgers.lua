-- Takes the ledgers' totals over into the user's state; a total of 0 is not kept.
local function close_ledgers(ledgers, state)
  for _, ledger in ipairs(ledgers) do
    state[USER.points][ledger.system.no] = ledger.total > 0 and ledger.total or nil
  end
end
