--- @include "holds"

-- Applies the boosts in force on a local day to a positive award, and rounds once.
-- Writes: ledger.boosted. Returns: points, numbers of the boosts applied.
local boosted
do
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

  -- What a ledger's boosts in force on a local day come to, for all its awards of the day: { day, numbers of the boosts,
  -- multiplier, rounding }. Multipliers are multiplied; if the roundings disagree, down (1) beats nearest (2) beats up (3).
  local function boosts_on(ledger, attributes, day)
    local boosts, applied, multiplier, rounding = ledger.boosts, {}, 1, 3
    for i = 1, #boosts do
      local boost = boosts[i]
      if day >= boost.from and (not boost.to or day <= boost.to) and holds(boost.users, attributes) then
        applied[#applied + 1] = boost.no
        multiplier = cut(multiplier * boost.multiplier)
        rounding = math.min(rounding, boost.rounding)
      end
    end
    return { day = day, applied = applied, multiplier = multiplier, rounding = rounding }
  end

  boosted = function(points, ledger, attributes, day)
    if #ledger.boosts == 0 then
      return points, ledger.boosts
    end
    local on_day = ledger.boosted
    if not on_day or on_day.day ~= day then
      on_day = boosts_on(ledger, attributes, day)
      ledger.boosted = on_day
    end
    if #on_day.applied == 0 then
      return points, on_day.applied
    end
    points = cut(points * on_day.multiplier)
    if on_day.rounding == 1 then
      return math.floor(points), on_day.applied
    elseif on_day.rounding == 3 then
      return math.ceil(points), on_day.applied
    end
    return math.floor(points + 0.5), on_day.applied
  end
end
