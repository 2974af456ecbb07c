--- @include "award_points"
--- @include "crossed"
--- @include "holds"
--- @include "take_replay"

-- Pays metric, streak and achievement triggers of every system, in this order, oldest first.
-- Returns: the number of a blocking trigger that the balance before the event's awards cannot pay, or nil.
local function fire_triggers(ledgers, event, state, outcome)
  local completed
  for i = 1, #outcome.completed do
    completed = completed or {}
    completed[outcome.completed[i]] = true
  end
  for i = 1, #ledgers do
    local ledger = ledgers[i]
    local system = ledger.system
    local metric = system.metric
    for j = 1, #metric do
      local trigger = metric[j]
      local multiples = crossed(trigger, outcome, state[USER.attributes])
      if multiples > 0 then
        award_points(ledger, trigger, multiples, state, outcome.day)
      end
    end
    local due
    local late = outcome.late
    if outcome.extended or late then
      for j = 1, #system.streak do
        local trigger = system.streak[j]
        local reached = late and multiples_reached(late, trigger.length) > 0
          or not late and outcome.length % trigger.length == 0
        if reached and holds(trigger.users, state[USER.attributes]) then
          due = due or {}
          due[#due + 1] = trigger
        end
      end
    end
    if completed then
      for j = 1, #system.achievement do
        local trigger = system.achievement[j]
        if completed[trigger.achievement] and holds(trigger.users, state[USER.attributes]) then
          due = due or {}
          due[#due + 1] = trigger
        end
      end
    end
    for j = 1, due and #due or 0 do
      local trigger = due[j]
      if trigger.blocks and trigger.points < 0 then
        ledger.left = ledger.left + trigger.points
        if ledger.left < 0 then
          return trigger.no
        end
      end
      award_points(ledger, trigger, 1, state, outcome.day)
    end
  end
  return nil
end
