--- @include "out_of_range"

-- A decimal, or where it is out of the range of sums the last whole number in it. For sums that no event can be refused
-- for: scores of points, which are capped themselves, and what is summed up from history.
-- Returns: whole, micros.
local function clamped(whole, micros)
  if whole >= SUM_BOUND then
    return SUM_BOUND - 1, 0
  elseif whole <= -SUM_BOUND then
    return 1 - SUM_BOUND, 0
  end
  return whole, micros
end
