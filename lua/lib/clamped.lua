-- A decimal, or where it is out of the range of sums the last whole number in it. For sums that no event can be refused
-- for: scores of points, which are capped themselves, and what is summed up from history.
-- Returns: whole, micros.
local function clamped(whole, micros)
  if whole >= LIMIT.sum then
    return LIMIT.sum - 1, 0
  elseif whole <= -LIMIT.sum then
    return 1 - LIMIT.sum, 0
  end
  return whole, micros
end
