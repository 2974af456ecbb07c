--- @include "decimal_add"

-- Takes a value out of the running total `no` of a table of totals, as if it had never been added. A value above 0 takes the
-- highest total with it, one below gives it back: exact while values are not mixed, and never below what is left of them,
-- so that what is earned again counts again.
local function take_from_total(totals, no, whole, micros)
  local total = totals[no]
  if not total then
    return
  end
  local peak = total[TOTAL.peak] or math.max(total[TOTAL.whole], 0)
  if whole > 0 then
    peak = peak - whole
  end
  total[TOTAL.whole], total[TOTAL.micros] = decimal_add(total[TOTAL.whole], total[TOTAL.micros], -whole, -micros)
  total[TOTAL.peak] = peak > total[TOTAL.whole] and peak > 0 and peak or nil
end
