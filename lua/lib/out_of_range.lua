--- @include "run_place"
--- @include "streak_at"

-- Sums that grow with events (totals, counts of matching events, sums of periods, scores) stay below LIMIT.sum in both
-- directions: so they have at most 15 digits before the point, and differences of two of them are exact (below 2^53).

-- What sums a value can take out of range: a value is at most 10^12, rounded up to the next whole unit.
local NEAR_BOUND = LIMIT.sum - 1000000000001

-- Whether the value just added has taken a sum (its whole part) out of range, or further out: what was out of range
-- already may come back.
local function leaves_range(sum, whole, micros)
  return sum >= LIMIT.sum and (whole > 0 or micros > 0) or sum <= -LIMIT.sum and (whole < 0 or micros < 0)
end

local function is_near(sum)
  return sum ~= nil and (sum > NEAR_BOUND or sum < -NEAR_BOUND)
end

-- Whether an event may be refused because a sum of the user would leave its range. True says "perhaps", false is certain.
local function near_range_end(event, state)
  local metric = event.plan.metric
  local near = is_near((state[USER.totals][metric] or {})[TOTAL.whole])
  for _, no in ipairs(event.counted) do
    near = near or is_near((state[USER.counts][no] or {})[TOTAL.whole])
  end
  for frequency = FREQUENCY.daily, FREQUENCY.monthly do
    local sums = state[streak_at[frequency] + STREAK.sums]
    near = near or is_near((sums and sums[metric] or {})[TOTAL.whole])
  end
  local scores, from = state[USER.boards], 1
  for _, board in ipairs(event.plan.boards) do
    if board.by == 'metric' then
      local at = board_place(scores, board.no, from)
      from = at
      while scores[at] == board.no do
        near = near or is_near(scores[at + SCORE.whole])
        at = at + SCORE.size
      end
    end
  end
  return near
end
