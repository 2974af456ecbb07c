-- Keeps the sorted sets of the users by points total (above 0), and the counts of completions.
local function move_points(changed, user_id, prefix)
  for _, points in ipairs(changed or {}) do
    if points[3] > 0 then
      redis.call('ZADD', prefix .. points[1], points[3], user_id)
    else
      redis.call('ZREM', prefix .. points[1], user_id)
    end
  end
end
