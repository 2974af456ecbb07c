--- @include "held_writes"

-- Keeps the sorted sets of the users by points total (above 0).
local function move_points(changed, user_id, prefix)
  for _, points in ipairs(changed or {}) do
    local key = prefix .. points[1]
    if points[3] > 0 then
      hold_score(key, points[3], user_id)
    else
      write_held(key)
      redis.call('ZREM', key, user_id)
    end
  end
end
