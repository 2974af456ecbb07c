--- @include "held_writes"
--- @include "text_of"

-- Counts a user for the points totals that a record says are others (RECORDED_POINTS).
local function move_points(changed, prefix)
  if not changed then
    return
  end
  local keys = this_call.points or held('points')
  for i = 1, #changed do
    local points = changed[i]
    local key = keys[points[RECORDED_POINTS.system]]
    if not key then
      key = prefix .. text_of(points[RECORDED_POINTS.system])
      keys[points[RECORDED_POINTS.system]] = key
    end
    hold_total(key, points[RECORDED_POINTS.before], points[RECORDED_POINTS.after])
  end
end
