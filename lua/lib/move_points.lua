--- @include "held_writes"

-- Keeps the sorted sets of the users by points total (above 0).
local function move_points(changed, user_id, prefix)
  if not changed then
    return
  end
  local keys = held('points')
  for i = 1, #changed do
    local points = changed[i]
    local key = keys[points[1]]
    if not key then
      key = prefix .. points[1]
      keys[points[1]] = key
    end
    if points[3] > 0 then
      hold_score(key, points[3], user_id)
    else
      write_held(key)
      redis.call('ZREM', key, user_id)
    end
  end
end
