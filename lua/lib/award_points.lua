--- @include "boosted"

-- Pays one trigger: boosts, then cap and floor. What is recorded is what was really added; 0 is not recorded.
-- `ledger`: { system, total, boosts, awards } of one system in one event.
-- Writes: ledger.total, ledger.awards { trigger no, awarded, total after, boost nos }.
local MAX_POINTS = LIMIT.sum - 1

local function award_points(ledger, trigger, multiples, state, day)
  local points = trigger.points * multiples
  local after, applied
  if points > 0 then
    points, applied = boosted(points, ledger, state[USER.attributes], day)
    after = math.max(ledger.total, math.min(ledger.total + points, ledger.system.max or MAX_POINTS))
  else
    after, applied = math.max(ledger.total + points, 0), {}
  end
  local awarded = after - ledger.total
  if awarded ~= 0 then
    ledger.total = after
    ledger.awards[#ledger.awards + 1] = { trigger.no, awarded, after, applied }
  end
end
