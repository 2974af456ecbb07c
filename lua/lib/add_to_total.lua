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
  local peak = total[3] or math.max(total[1], 0)
  total[1], total[2] = decimal_add(total[1], total[2], whole, micros)
  if total[1] >= peak then
    total[3] = nil
    return peak, total[1]
  end
  total[3] = peak
  return peak, peak
end
