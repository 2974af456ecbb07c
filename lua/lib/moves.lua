-- Moves of users on the leaderboards' sorted sets, and their ranks. Equal scores share a rank: 1 + the number of members above. A score
-- up to the leaderboard's floor is not on it; with `max`, neither is a rank beyond it.
--
-- On a full leaderboard, the score of the last rank shows without counting that a lower user is not on it, which is true for most. It
-- is read once per call and leaderboard, as long as nobody passes it. A user who stays below it does not affect what is known to the
-- rest of the call, so such scores are written together at the end.

-- Remembers results of a function of one value, because most values of leaderboards recur. Returns: the known results by value, and the
-- function for the others.
local function remembered(make)
  local MOST_RESULTS = 4096
  local results, count = {}, 0

  return results,
    function(value)
      if count == MOST_RESULTS then
        for known in pairs(results) do
          results[known] = nil
        end
        count = 0
      end
      local result = make(value)
      results[value], count = result, count + 1
      return result
    end
end

-- The shortest text with at most 17 digits for a number, which redis.call would produce with 2,000 instructions.
local texts, make_text = remembered(function(number)
  return string.format('%.17g', number)
end)

local function text_of(number)
  return texts[number] or make_text(number)
end

-- The lower end of the range of scores above a score.
local ranges_above, range_above = remembered(function(score)
  return '(' .. text_of(score)
end)

local packed_forms, pack = remembered(function(value)
  return cmsgpack.pack(value)
end)

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
local function leave_set(words, more, moving)
  local key, groups = words[more + MORE.oldKey], words[more + MORE.groups]
  write_held(moving, key)
  local removed = redis.call('ZREM', moving.keys[key], words[more + MORE.oldMember])
  if removed == 1 and groups and redis.call('EXISTS', moving.keys[key]) == 0 then
    redis.call('SREM', moving.keys[groups], words[more + MORE.oldGroup])
  end
  moving.thresholds[key] = nil
end

-- `more`: where the move's MORE begins, or false if it has none. `later`: the score may be held back.
local function put_score(words, at, more, moving, later)
  local key, score, member = words[at + MOVE.key], words[at + MOVE.score], words[BLOCK.userId]
  if more then
    if words[more + MORE.oldKey] then
      leave_set(words, more, moving)
    end
    if score <= words[more + MORE.floor] then
      return
    end
    member = words[more + MORE.member]
    if words[more + MORE.isGroupNew] then
      redis.call('SADD', moving.keys[words[more + MORE.groups]], words[at + MOVE.group])
    end
  end
  local list = moving.scores[key]
  if later then
    if list then
      list[#list + 1], list[#list + 2] = text_of(score), member
    else
      moving.scores[key] = { text_of(score), member }
    end
    return
  end
  if list then
    write_held(moving, key)
  end
  redis.call('ZADD', moving.keys[key], text_of(score), member)
end

-- The rank of a score; -1 if it is not on the leaderboard. `member`: on leaderboards on which no two users share a rank.
-- Cost: O(log N).
local function rank_of(set, score, member, floor, max, lowest)
  if score <= floor or score < lowest then
    return NO_RANK.off
  end
  -- A member that is missing, after a fault, counts as the first of its score.
  local higher = member and redis.call('ZREVRANK', set, member)
    or redis.call('ZCOUNT', set, ranges_above[score] or range_above(score), '+inf')
  return (max and 1 + higher > max) and NO_RANK.off or 1 + higher
end

-- The score of the last rank on a full leaderboard; the floor if it is not full.
local function read_threshold(key, floor, max, moving)
  write_held(moving, key)
  local last = text_of(max - 1)
  local threshold = tonumber(redis.call('ZREVRANGE', moving.keys[key], last, last, 'WITHSCORES')[2]) or floor
  moving.thresholds[key] = threshold
  return threshold
end

-- Headers of packed lists. A RECORDED_BOARD without scores has six elements.
local SIX, EIGHT, TEN = '\150', '\152', '\154'

-- Makes a move and counts its ranks.
local function rank_move(words, at, more, moving)
  local key, before, score, max =
    words[at + MOVE.key], words[at + MOVE.before], words[at + MOVE.score], words[at + MOVE.max]
  local floor, tied, header, scores = 0, false, SIX, ''
  if more then
    floor, tied = words[more + MORE.floor], words[more + MORE.tied]
    if words[more + MORE.scores] then
      header, scores = EIGHT, cmsgpack.pack(before, score)
    end
  end
  local threshold = max and (moving.thresholds[key] or read_threshold(key, floor, max, moving)) or floor
  local previous, rank = NO_RANK.off, NO_RANK.off
  if before < threshold and score < threshold then
    put_score(words, at, more, moving, true)
    header, scores = SIX, ''
  else
    local set = moving.keys[key]
    if moving.scores[key] then
      write_held(moving, key)
    end
    previous = rank_of(set, before, tied and words[more + MORE.oldMember], floor, max, threshold)
    put_score(words, at, more, moving)
    -- A user who was and stays above the last rank does not change who has it, nor one who was on a leaderboard that is not full.
    if max and (before <= threshold or (score <= threshold and threshold ~= floor)) then
      threshold = read_threshold(key, floor, max, moving)
    end
    rank = rank_of(set, score, tied and words[more + MORE.member], floor, max, threshold)
  end
  local board, run_day, group = words[at + MOVE.board], words[at + MOVE.runDay], words[at + MOVE.group]
  return header
    .. (packed_forms[board] or pack(board))
    .. (packed_forms[run_day] or pack(run_day))
    .. (packed_forms[group] or pack(group))
    .. (packed_forms[previous] or pack(previous))
    .. (packed_forms[rank] or pack(rank))
    .. (packed_forms[threshold] or pack(threshold))
    .. scores
end

-- Of a wide tenant, the sets hold only some of the users: the scores are recorded instead of ranks, and the caller counts.
local function unranked(words, at, more)
  local board, run_day, group = words[at + MOVE.board], words[at + MOVE.runDay], words[at + MOVE.group]
  local before, score, floor = words[at + MOVE.before], words[at + MOVE.score], more and words[more + MORE.floor] or 0
  local none = NO_RANK.unranked
  if not (more and words[more + MORE.tied]) then
    return EIGHT .. cmsgpack.pack(board, run_day, group, none, none, floor, before, score)
  end
  local old_reached, reached = words[more + MORE.oldReached], words[more + MORE.reached]
  return TEN .. cmsgpack.pack(board, run_day, group, none, none, floor, before, score, old_reached, reached)
end

-- For a record that has none.
local NO_BOARDS = '\194'

local list_headers, list_header = remembered(function(size)
  return size < 16 and string.char(144 + size) or '\220' .. string.char(math.floor(size / 256), size % 256)
end)

-- Makes a record's moves. `at`: where the words have their number, or false. Returns: a packed list of RECORDED_BOARD, without moves
-- that only change the group, and where the words go on. If nobody listens to ranks (`unheard`), only leaderboards that are heard are ranked; on others the scores of a call are written
-- together.
local function write_moves(words, at, moving)
  local moves = words[at]
  if not moves then
    return NO_BOARDS, at + 1
  end
  local ranked, count, move = '', 0, at + 1
  for _ = 1, moves do
    local more = words[move + MOVE.hasMore] and move + MOVE.size
    if more and not words[more + MORE.ranked] then
      put_score(words, move, more, moving)
      moving.thresholds[words[move + MOVE.key]] = nil
    elseif moving.unheard and not (more and words[more + MORE.heard]) then
      put_score(words, move, more, moving, true)
    else
      count = count + 1
      local recorded
      if moving.is_wide then
        put_score(words, move, more, moving, true)
        recorded = unranked(words, move, more)
      else
        recorded = rank_move(words, move, more, moving)
      end
      ranked = count == 1 and recorded or ranked .. recorded
    end
    move = more and more + MORE.size or move + MOVE.size
  end
  return (list_headers[count] or list_header(count)) .. ranked, move
end

-- Times at which scores were reached (microseconds) never go back within a run of a leaderboard. The last one is lost when the functions
-- are loaded again, and does not count if the clock has been set back by more than a minute.
local overtaken, note_times
do
  local MOST_AHEAD = 60000000
  local MOST_RUNS = 4096
  local latest, count = {}, 0

  -- The latest time of a run in which the block's scores would be reached earlier; nil if there is none. The times are the words from
  -- `first_at` to before `end_at`.
  overtaken = function(words, first_at, end_at)
    for at = first_at, end_at - 1, REACHED_TIME.size do
      local last, first = latest[words[at]], words[at + REACHED_TIME.first]
      if last and first <= last and last <= first + MOST_AHEAD then
        return string.format('%.0f', last)
      end
    end
    return nil
  end

  note_times = function(words, first_at, end_at)
    for at = first_at, end_at - 1, REACHED_TIME.size do
      local run, last = words[at], words[at + REACHED_TIME.last]
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
