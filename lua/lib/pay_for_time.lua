--- @include "award_points"
--- @include "holds"

-- Pays the `time` triggers (`nos`: a set) whose period of a user ended at `due` (epoch ms), oldest first, to those
-- who meet their conditions then. What was paid up to that time already is not paid again.
-- Writes: ledgers; the state's timePaid { trigger no = time of the last period paid }. Returns: whether anything was paid.
local function pay_for_time(ledgers, nos, due, state, day)
  local paid = false
  for _, ledger in ipairs(ledgers) do
    for _, trigger in ipairs(ledger.system.time) do
      local last = state[USER.timePaid] and state[USER.timePaid][trigger.no] or 0
      if nos[trigger.no] and due > last and holds(trigger.users, state[USER.attributes]) then
        local awards = #ledger.awards
        award_points(ledger, trigger, 1, state, day)
        if #ledger.awards > awards then
          state[USER.timePaid] = state[USER.timePaid] or {}
          state[USER.timePaid][trigger.no] = due
          paid = true
        end
      end
    end
  end
  return paid
end
