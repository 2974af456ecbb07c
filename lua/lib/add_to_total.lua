--- @include "decimal_add"

-- Adds a value to the running total `no` of a table of totals: { whole, micros, peak }. `peak` is the whole
-- part of the highest total ever, kept only where it is above the total; it starts at 0.
-- Returns: whole part of the peak before, and after; whether points are earned is decided on these.
local function add_to_total(totals, no, whole, micros)
  local total = totals[no]
  if not total then
    total = { 0, 0 }
    totals[no] = total
  end
  local peak = total[TOTAL.peak] or math.max(total[TOTAL.whole], 0)
  total[TOTAL.whole], total[TOTAL.micros] = decimal_add(total[TOTAL.whole], total[TOTAL.micros], whole, micros)
  if total[TOTAL.whole] >= peak then
    -- Nil for what is not there would make room for it.
    if total[TOTAL.peak] then
      total[TOTAL.peak] = nil
    end
    return peak, total[TOTAL.whole]
  end
  total[TOTAL.peak] = peak
  return peak, peak
end
