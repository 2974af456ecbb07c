-- Moves a user on the boards' sorted sets, and tells the ranks. Equal scores share a rank: 1 + the number of
-- members above. A score <= 0 is not on the board; with `max`, neither is a rank beyond it.
-- Returns: a list of { board no, run day, group, previous rank, rank, threshold }; rank -1: not on the board.
-- Cost: O(log N) a board.
local function rank_of(key, score, max)
  if score <= 0 then
    return -1
  end
  local rank = 1 + redis.call('ZCOUNT', key, string.format('(%.17g', score), '+inf')
  return (max and rank > max) and -1 or rank
end

local function rank_boards(changes, user_id, prefix)
  local ranked = {}
  for i, change in ipairs(changes) do
    local board, run_day, group, old_group, old_score, score = unpack(change)
    local key = prefix .. board.no .. ':' .. run_day .. ':' .. group
    local previous = -1
    if group == old_group then
      previous = rank_of(key, old_score, board.max)
    elseif old_score > 0 then
      redis.call('ZREM', prefix .. board.no .. ':' .. run_day .. ':' .. old_group, user_id)
    end
    if score > 0 then
      redis.call('ZADD', key, score, user_id)
    elseif old_score > 0 then
      redis.call('ZREM', key, user_id)
    end
    local threshold = 0
    if board.max then
      local lowest = redis.call('ZREVRANGE', key, board.max - 1, board.max - 1, 'WITHSCORES')
      threshold = tonumber(lowest[2] or 0)
    end
    ranked[i] = { board.no, run_day, group, previous, rank_of(key, score, board.max), threshold }
  end
  return ranked
end
