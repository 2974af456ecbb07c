--- @include "award_points"
--- @include "holds"

-- Pays the triggers of a user's first sight. What they earn is there for triggers that block.
local function welcome_user(ledgers, state, day)
  for _, ledger in ipairs(ledgers) do
    for _, trigger in ipairs(ledger.system.creation) do
      if holds(trigger.users, state[USER.attributes]) then
        award_points(ledger, trigger, 1, state, day)
      end
    end
    ledger.left = ledger.total
  end
end
