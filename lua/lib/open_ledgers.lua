-- One ledger a points system: the total before the event, what is awarded in its course, and what is `left` for
-- triggers that block: the balance before the event's awards. The user's own boosts come beside the plan's.
local function open_ledgers(plan, state, own_boosts)
  local ledgers = {}
  for i = 1, #plan.systems do
    local system = plan.systems[i]
    local boosts = system.boosts
    local own = own_boosts and own_boosts[tostring(system.no)]
    if own then
      boosts = { unpack(boosts) }
      for j = 1, #own do
        boosts[#boosts + 1] = own[j]
      end
    end
    local total = state[USER.points][system.no] or 0
    ledgers[i] = { system = system, before = total, total = total, left = total, boosts = boosts, awards = {} }
  end
  return ledgers
end
