-- Moves of users on the leaderboards' sorted sets, and their ranks. Equal scores share a rank: 1 + the number of members above. A score
-- up to the leaderboard's floor is not on it; with `max`, neither is a rank beyond it.
--
-- On a full leaderboard, the score of the last rank shows without counting that a lower user is not on it, which is true for most. It
-- is read once per call and leaderboard, as long as nobody passes it. A user who stays below it does not affect what is known to the
-- rest of the call, so such scores are written together at the end.

-- The shortest text with at most 17 digits for a number, which redis.call would produce with 2,000 instructions.
local text_of
do
  local MOST_TEXTS = 4096
  local texts, text_count = {}, 0

  text_of = function(number)
    local text = texts[number]
    if not text then
      if text_count == MOST_TEXTS then
        texts, text_count = {}, 0
      end
      text = string.format('%.17g', number)
      texts[number], text_count = text, text_count + 1
    end
    return text
  end
end

local function write_held(moving, key)
  local list = moving.scores[key]
  if list then
    moving.scores[key] = nil
    redis.call('ZADD', moving.keys[key], unpack(list))
  end
end

-- Writes the scores that were held back. Of two scores of one member, the later one wins.
local function write_scores(moving)
  for key, list in pairs(moving.scores) do
    redis.call('ZADD', moving.keys[key], unpack(list))
  end
end

-- Removes a member from a set, and the group from the run's list of groups when its set becomes empty, so that a user who passes
-- through many groups leaves none behind.
local function leave_set(move, moving)
  local key = move[MOVE.oldKey]
  write_held(moving, key)
  local removed = redis.call('ZREM', moving.keys[key], move[MOVE.oldMember])
  if removed == 1 and move[MOVE.groups] ~= 0 and redis.call('EXISTS', moving.keys[key]) == 0 then
    redis.call('SREM', moving.keys[move[MOVE.groups]], move[MOVE.oldGroup])
  end
  moving.thresholds[key] = nil
end

-- `later`: the score may be held back.
local function put_score(move, moving, later)
  if move[MOVE.oldKey] ~= 0 then
    leave_set(move, moving)
  end
  if move[MOVE.stands] then
    local key = move[MOVE.key]
    if later then
      local list = moving.scores[key]
      if not list then
        list = {}
        moving.scores[key] = list
      end
      list[#list + 1], list[#list + 2] = text_of(move[MOVE.score]), move[MOVE.member]
    else
      write_held(moving, key)
      redis.call('ZADD', moving.keys[key], text_of(move[MOVE.score]), move[MOVE.member])
    end
    if move[MOVE.isGroupNew] then
      redis.call('SADD', moving.keys[move[MOVE.groups]], move[MOVE.group])
    end
  end
end

-- The rank of a score; -1 if it is not on the leaderboard. `member`: on leaderboards on which no two users share a rank.
-- Cost: O(log N).
local function rank_of(moving, move, score, lowest, member)
  if score <= move[MOVE.floor] or score < lowest then
    return NO_RANK.off
  end
  -- A member that is missing, after a fault, counts as the first of its score.
  local key = moving.keys[move[MOVE.key]]
  local above = member and redis.call('ZREVRANK', key, member)
    or redis.call('ZCOUNT', key, '(' .. text_of(score), '+inf')
  local max = move[MOVE.max]
  return (max and 1 + above > max) and NO_RANK.off or 1 + above
end

-- The score of the last rank on a full leaderboard; the floor if it is not full or has no maximum.
local function threshold_of(key, move, moving)
  if not move[MOVE.max] then
    return move[MOVE.floor]
  end
  local known = moving.thresholds[key]
  if not known then
    write_held(moving, key)
    local last = text_of(move[MOVE.max] - 1)
    known = tonumber(redis.call('ZREVRANGE', moving.keys[key], last, last, 'WITHSCORES')[2]) or move[MOVE.floor]
    moving.thresholds[key] = known
  end
  return known
end

-- Makes a move. Returns: a RECORDED_BOARD.
local function rank_move(move, moving)
  local key, before, score, floor = move[MOVE.key], move[MOVE.before], move[MOVE.score], move[MOVE.floor]
  local threshold = threshold_of(key, move, moving)
  if before < threshold and score < threshold then
    put_score(move, moving, true)
    return { move[MOVE.board], move[MOVE.runDay], move[MOVE.group], NO_RANK.off, NO_RANK.off, threshold }
  end
  write_held(moving, key)
  local tied = move[MOVE.tied]
  local previous = rank_of(moving, move, before, threshold, tied and move[MOVE.oldMember])
  put_score(move, moving)
  -- A user who was and stays above the last rank does not change who has it.
  if threshold == floor or before <= threshold or score <= threshold then
    moving.thresholds[key] = nil
    threshold = threshold_of(key, move, moving)
  end
  local rank = rank_of(moving, move, score, threshold, tied and move[MOVE.member])
  local ranked = { move[MOVE.board], move[MOVE.runDay], move[MOVE.group], previous, rank, threshold }
  if move[MOVE.scores] then
    ranked[RECORDED_BOARD.previousScore], ranked[RECORDED_BOARD.score] = before, score
  end
  return ranked
end

-- Of a wide tenant, the sets hold only some of the users: the scores are recorded instead of ranks, and the caller counts.
local function unranked(move)
  local ranked =
    { move[MOVE.board], move[MOVE.runDay], move[MOVE.group], NO_RANK.unranked, NO_RANK.unranked, move[MOVE.floor] }
  ranked[RECORDED_BOARD.previousScore], ranked[RECORDED_BOARD.score] = move[MOVE.before], move[MOVE.score]
  if move[MOVE.tied] then
    ranked[RECORDED_BOARD.previousReached], ranked[RECORDED_BOARD.reached] = move[MOVE.oldReached], move[MOVE.reached]
  end
  return ranked
end

-- Makes a record's moves. Returns: a list of RECORDED_BOARD, without moves that only change the group. If nobody listens to ranks
-- (`unheard`), only leaderboards that are heard are ranked; on others the scores of a call are written together.
local function write_moves(moves, moving)
  local ranked = {}
  for i = 1, #moves do
    local move = moves[i]
    if not move[MOVE.ranked] then
      put_score(move, moving)
      moving.thresholds[move[MOVE.key]] = nil
    elseif moving.unheard and not move[MOVE.heard] then
      put_score(move, moving, true)
    elseif moving.wide then
      put_score(move, moving, true)
      ranked[#ranked + 1] = unranked(move)
    else
      ranked[#ranked + 1] = rank_move(move, moving)
    end
  end
  return ranked
end

-- Times at which scores were reached (microseconds) never go back within a run of a leaderboard. The last one is lost when the functions
-- are loaded again, and does not count if the clock has been set back by more than a minute.
local overtaken, note_times
do
  local MOST_AHEAD = 60000000
  local MOST_RUNS = 4096
  local latest, count = {}, 0

  -- The latest time of a run in which the block's scores would be reached earlier; nil if there is none.
  overtaken = function(times)
    for at = 1, #times, REACHED_TIME.size do
      local last, first = latest[times[at + REACHED_TIME.run]], times[at + REACHED_TIME.first]
      if last and first <= last and last <= first + MOST_AHEAD then
        return string.format('%.0f', last)
      end
    end
    return nil
  end

  note_times = function(times)
    for at = 1, #times, REACHED_TIME.size do
      local run, last = times[at + REACHED_TIME.run], times[at + REACHED_TIME.last]
      local known = latest[run]
      if not known then
        if count == MOST_RUNS then
          latest, count = {}, 0
        end
        count = count + 1
      end
      -- Times of users in one call take turns.
      if not known or last > known or known > last + MOST_AHEAD then
        latest[run] = last
      end
    end
  end
end
