--- @include "settle_streaks"
--- @include "streak_record"
--- @include "packed_state"

-- A user's total of the plan's metric and present streak, for an answer to an event that changes nothing: the streak is
-- settled on a copy. Returns: the total without its peak, RECORDED_STREAK, the user's local day.
local function standing(state, plan, now)
  local total = state[USER.totals][plan.metric] or { 0, 0 }
  local day = math.floor((now + (state[USER.offsetSeconds] or 0) * 1000) / 86400000)
  local copy = unpack_state(pack_state(state))
  settle_streaks(copy, plan.streak, plan.periods[day - plan.firstDay + 1])
  return { total[TOTAL.whole], total[TOTAL.micros] }, streak_record(copy, plan.streak, false, day), day
end
