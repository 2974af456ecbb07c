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

-- Of the call: its keys, the words that have its SETs, and where these end; whether the tenant is wide, whether nobody listens to
-- ranks, and whether neither is the case.
local keys, sets, end_set, wide, unheard, usual

-- Headers of packed lists. A RECORDED_BOARD without scores has six elements.
local SIX, EIGHT, TEN = '\150', '\152', '\154'

-- Begins the moves of a call. `words`: those of the call.
local function begin_moves(call_keys, words, how)
  keys, sets, end_set, wide, unheard = call_keys, words, words[CALL.counts] - 1, how.is_wide, how.unheard
  usual = not (wide or unheard)
  for set = CALL.size, end_set, SET.size do
    local board, run_day, group = unpack(words, set + SET.place, set + SET.group)
    words[set] = keys[words[set]]
    words[set + SET.place] = (packed_forms[board] or pack(board))
      .. (packed_forms[run_day] or pack(run_day))
      .. (packed_forms[group] or pack(group))
  end
end

local function write_held(set)
  local list = sets[set + SET.held]
  if list then
    sets[set + SET.held] = false
    redis.call('ZADD', sets[set], unpack(list))
  end
end

-- Writes the scores that were held back. Of two scores of one member, the later one wins.
local function write_scores()
  for set = CALL.size, end_set, SET.size do
    write_held(set)
  end
end

-- Removes a member from a set, and the group from the run's list of groups when its set becomes empty, so that a user who passes
-- through many groups leaves none behind.
local function leave_set(words, more)
  local set, groups = words[more + MORE.oldSet], words[more + MORE.groups]
  write_held(set)
  local removed = redis.call('ZREM', sets[set], words[more + MORE.oldMember])
  if removed == 1 and groups and redis.call('EXISTS', sets[set]) == 0 then
    redis.call('SREM', keys[groups], words[more + MORE.oldGroup])
  end
  sets[set + SET.threshold] = false
end

-- Holds a score back.
local function hold_score(set, score, member)
  local list = sets[set + SET.held]
  if list then
    local last = #list
    list[last + 1], list[last + 2] = texts[score] or text_of(score), member
  else
    sets[set + SET.held] = { texts[score] or text_of(score), member }
  end
end

-- `more`: where the move's MORE begins, or false if it has none. `later`: the score may be held back.
local function put_score(words, at, more, later)
  local set, score, member = words[at], words[at + MOVE.score], words[BLOCK.userId]
  if more then
    if words[more + MORE.oldSet] then
      leave_set(words, more)
    end
    if score <= words[more + MORE.floor] then
      return
    end
    member = words[more + MORE.member]
    if words[more + MORE.isGroupNew] then
      redis.call('SADD', keys[words[more + MORE.groups]], words[more + MORE.group])
    end
  end
  if later then
    hold_score(set, score, member)
    return
  end
  write_held(set)
  redis.call('ZADD', sets[set], texts[score] or text_of(score), member)
end

-- The rank of a score above the floor; NO_RANK.off if it is beyond `max`. `member`: on leaderboards on which no two users share a rank.
-- Cost: O(log N).
local function rank_of(key, score, member, max)
  -- A member that is missing, after a fault, counts as the first of its score.
  local higher = member and redis.call('ZREVRANK', key, member)
    or redis.call('ZCOUNT', key, ranges_above[score] or range_above(score), '+inf')
  return (max and higher >= max) and NO_RANK.off or higher + 1
end

-- The score of the last rank on a full leaderboard; the floor if it is not full.
local function read_threshold(set, floor, max)
  write_held(set)
  local last = texts[max - 1] or text_of(max - 1)
  local threshold = tonumber(redis.call('ZREVRANGE', sets[set], last, last, 'WITHSCORES')[2]) or floor
  sets[set + SET.threshold] = threshold
  return threshold
end

-- Makes a move and counts its ranks. Returns: a packed RECORDED_BOARD.
local function rank_move(words, at, more)
  local set, score, before = words[at], words[at + MOVE.score], words[at + MOVE.before]
  local key, max = sets[set], sets[set + SET.max]
  local floor, tied, header, scores = 0, false, SIX, ''
  if more then
    floor, tied = words[more + MORE.floor], words[more + MORE.tied]
    if words[more + MORE.scores] then
      header, scores = EIGHT, cmsgpack.pack(before, score)
    end
  end
  local threshold = max and (sets[set + SET.threshold] or read_threshold(set, floor, max)) or floor
  local previous, rank = NO_RANK.off, NO_RANK.off
  if before < threshold and score < threshold then
    put_score(words, at, more, true)
    header, scores = SIX, ''
  else
    write_held(set)
    if before > floor and before >= threshold then
      previous = rank_of(key, before, tied and words[more + MORE.oldMember], max)
    end
    put_score(words, at, more)
    -- A user who was and stays above the last rank does not change who has it, nor one who was on a leaderboard that is not full.
    if max and (before <= threshold or (score <= threshold and threshold ~= floor)) then
      threshold = read_threshold(set, floor, max)
    end
    if score > floor and score >= threshold then
      rank = rank_of(key, score, tied and words[more + MORE.member], max)
    end
  end
  return header
    .. sets[set + SET.place]
    .. (packed_forms[previous] or pack(previous))
    .. (packed_forms[rank] or pack(rank))
    .. (packed_forms[threshold] or pack(threshold))
    .. scores
end

-- Of a wide tenant, the sets hold only some of the users: the scores are recorded instead of ranks, and the caller counts.
local function unranked(words, at, more)
  local place = sets[words[at] + SET.place]
  local before, score, floor = words[at + MOVE.before], words[at + MOVE.score], more and words[more + MORE.floor] or 0
  local none = NO_RANK.unranked
  if not (more and words[more + MORE.tied]) then
    return EIGHT .. place .. cmsgpack.pack(none, none, floor, before, score)
  end
  local old_reached, reached = words[more + MORE.oldReached], words[more + MORE.reached]
  return TEN .. place .. cmsgpack.pack(none, none, floor, before, score, old_reached, reached)
end

-- For a record that has none.
local NO_BOARDS = '\194'

local list_headers, list_header = remembered(function(size)
  return size < 16 and string.char(144 + size) or '\220' .. string.char(math.floor(size / 256), size % 256)
end)

-- Makes a move. Returns: a packed RECORDED_BOARD, or nil if it is not recorded. If nobody listens to ranks, only leaderboards that are
-- heard are ranked; on others the scores of a call are written together.
local function make_move(words, at, more)
  if more and not words[more + MORE.ranked] then
    put_score(words, at, more)
    sets[words[at] + SET.threshold] = false
    return nil
  end
  if unheard and not (more and words[more + MORE.heard]) then
    put_score(words, at, more, true)
    return nil
  end
  if not wide then
    return rank_move(words, at, more)
  end
  put_score(words, at, more, true)
  return unranked(words, at, more)
end

-- Makes a record's moves. `at`: where its RECORD_WORDS begin. Returns: a packed list of RECORDED_BOARD, without moves that only change
-- the group, and where the words go on.
local function write_moves(words, at)
  local moves, move = words[at], at + RECORD_WORDS.size
  if not moves then
    return NO_BOARDS, move
  end
  local ranked, count = '', 0
  for _ = 1, moves do
    local more = words[move + MOVE.hasMore] and move + MOVE.size
    local recorded
    if usual and not more then
      recorded = rank_move(words, move)
    else
      recorded = make_move(words, move, more)
    end
    if recorded then
      ranked = count == 0 and recorded or ranked .. recorded
      count = count + 1
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
