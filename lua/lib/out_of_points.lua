--- @include "crossed"

-- The out-of-points check: the number of the first blocking metric trigger whose deduction, with those of the
-- others in its system, would take the balance below zero; nil if none would.
-- Writes: ledger.left.
local function out_of_points(ledgers, outcome, attributes)
  for i = 1, #ledgers do
    local ledger = ledgers[i]
    local metric = ledger.system.metric
    for j = 1, #metric do
      local trigger = metric[j]
      if trigger.blocks then
        local multiples = crossed(trigger, outcome, attributes)
        if multiples > 0 and trigger.points < 0 then
          ledger.left = ledger.left + trigger.points * multiples
          if ledger.left < 0 then
            return trigger.no
          end
        end
      end
    end
  end
  return nil
end
