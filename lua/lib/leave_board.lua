--- @include "held_writes"

-- Takes a user out of the sorted set of a group of a run, and the group out of the list of the run's groups with its last
-- member: a user who goes through many groups leaves none behind. A set's key is `prefix` and the rest; `b` at the end of
-- the prefix is `g` in the list's (src/redis/keys.ts).
-- Cost: O(log N).
local function leave_board(prefix, run, group, user_id)
  local key = prefix .. run .. ':' .. group
  write_held(key)
  if redis.call('ZREM', key, user_id) == 1 and group ~= '' and redis.call('EXISTS', key) == 0 then
    redis.call('SREM', string.gsub(prefix, 'b:$', 'g:') .. run, group)
  end
end
