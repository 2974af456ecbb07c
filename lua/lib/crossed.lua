--- @include "holds"

-- How many multiples of a metric trigger's threshold an event newly crosses. What counts is the highest total
-- (or count of matching events) ever reached, so going down and up again earns nothing twice.
-- `outcome`: peak_before, peak_after of the metric; peaks (nil for none): trigger no → PEAK of the trigger's own count.
local function crossed(trigger, outcome, attributes)
  local before, after = outcome.peak_before, outcome.peak_after
  if trigger.counted then
    local peak = outcome.peaks and outcome.peaks[trigger.no]
    before, after = peak and peak[PEAK.before], peak and peak[PEAK.after]
  end
  if before == after or trigger.users and not holds(trigger.users, attributes) then
    return 0
  end
  return math.floor(after / trigger.threshold) - math.floor(before / trigger.threshold)
end
