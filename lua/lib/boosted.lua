--- @include "holds"

-- What was cut already: making text and a number of it again costs 3 µs, and the same few products come again and again.
-- Beyond so many all are forgotten.
local MOST_CUT = 4096
local cut_products, cut_count = {}, 0

-- A product cut to 15 digits, so that 10 × 1.1 is 11 in doubles too, and 12,345,678,900 × 1.1 is 13,580,246,790.
local function cut(product)
  local known = cut_products[product]
  if not known then
    if cut_count == MOST_CUT then
      cut_products, cut_count = {}, 0
    end
    known = tonumber(string.format('%.15g', product))
    cut_products[product], cut_count = known, cut_count + 1
  end
  return known
end

-- Applies the boosts in force on a local day to a positive award: multipliers are multiplied, then rounded once;
-- if the roundings disagree, down (1) beats nearest (2) beats up (3).
-- Returns: points, numbers of the boosts applied.
local function boosted(points, boosts, attributes, day)
  local applied, multiplier, rounding = {}, 1, 3
  for i = 1, #boosts do
    local boost = boosts[i]
    if day >= boost.from and (not boost.to or day <= boost.to) and holds(boost.users, attributes) then
      applied[#applied + 1] = boost.no
      multiplier = cut(multiplier * boost.multiplier)
      rounding = math.min(rounding, boost.rounding)
    end
  end
  if #applied == 0 then
    return points, applied
  end
  points = cut(points * multiplier)
  if rounding == 1 then
    return math.floor(points), applied
  elseif rounding == 3 then
    return math.ceil(points), applied
  end
  return math.floor(points + 0.5), applied
end
