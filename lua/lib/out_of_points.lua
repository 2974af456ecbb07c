--- @include "crossed"

-- The out-of-points check: the number of the first blocking metric trigger whose deduction, with those of the
-- others in its system, would take the balance below zero; nil if none would.
local function out_of_points(ledgers, peaks, attributes)
  for i = 1, #ledgers do
    local balance = ledgers[i].total
    for _, trigger in ipairs(ledgers[i].system.metric) do
      if trigger.blocks then
        local multiples = crossed(trigger, peaks, attributes)
        if multiples > 0 and trigger.points < 0 then
          balance = balance + trigger.points * multiples
          if balance < 0 then
            return trigger.no
          end
        end
      end
    end
  end
  return nil
end
