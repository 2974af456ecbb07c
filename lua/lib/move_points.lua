--- @include "held_writes"
--- @include "text_of"

-- Keeps the sorted sets of the users by points total (above 0).
local function move_points(changed, user_id, prefix)
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
    if points[RECORDED_POINTS.after] > 0 then
      hold_score(key, points[RECORDED_POINTS.after], user_id)
    else
      write_held(key)
      redis.call('ZREM', key, user_id)
    end
  end
end
