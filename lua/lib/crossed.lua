--- @include "holds"

-- How many multiples of a metric trigger's threshold an event newly crosses. What counts is the highest total
-- (or count of matching events) ever reached, so going down and up again earns nothing twice.
-- `peaks`: { [0] = { before, after } of the metric, [trigger no] = … of the trigger's own count }.
local function crossed(trigger, peaks, attributes)
  local peak = peaks[trigger.counted and trigger.no or 0]
  if not peak or peak[PEAK.before] == peak[PEAK.after] or not holds(trigger.users, attributes) then
    return 0
  end
  return math.floor(peak[PEAK.after] / trigger.threshold) - math.floor(peak[PEAK.before] / trigger.threshold)
end
