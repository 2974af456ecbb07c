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
local function leave_set(words, at, moving)
  local key, groups = words[at + MOVE.oldKey], words[at + MOVE.groups]
  write_held(moving, key)
  local removed = redis.call('ZREM', moving.keys[key], words[at + MOVE.oldMember])
  if removed == 1 and groups and redis.call('EXISTS', moving.keys[key]) == 0 then
    redis.call('SREM', moving.keys[groups], words[at + MOVE.oldGroup])
  end
  moving.thresholds[key] = nil
end

-- `later`: the score may be held back.
local function put_score(words, at, moving, later)
  if words[at + MOVE.oldKey] then
    leave_set(words, at, moving)
  end
  if not words[at + MOVE.stands] then
    return
  end
  local key, score, member = words[at + MOVE.key], text_of(words[at + MOVE.score]), words[at + MOVE.member]
  if later then
    local list = moving.scores[key]
    if list then
      list[#list + 1], list[#list + 2] = score, member
    else
      moving.scores[key] = { score, member }
    end
  else
    write_held(moving, key)
    redis.call('ZADD', moving.keys[key], score, member)
  end
  if words[at + MOVE.isGroupNew] then
    redis.call('SADD', moving.keys[words[at + MOVE.groups]], words[at + MOVE.group])
  end
end

-- The rank of a score; -1 if it is not on the leaderboard. `member`: on leaderboards on which no two users share a rank.
-- Cost: O(log N).
local function rank_of(set, score, member, floor, max, lowest)
  if score <= floor or score < lowest then
    return NO_RANK.off
  end
  -- A member that is missing, after a fault, counts as the first of its score.
  local above = member and redis.call('ZREVRANK', set, member)
    or redis.call('ZCOUNT', set, '(' .. text_of(score), '+inf')
  return (max and 1 + above > max) and NO_RANK.off or 1 + above
end

-- The score of the last rank on a full leaderboard; the floor if it is not full or has no maximum.
local function threshold_of(key, floor, max, moving)
  if not max then
    return floor
  end
  local known = moving.thresholds[key]
  if not known then
    write_held(moving, key)
    local last = text_of(max - 1)
    known = tonumber(redis.call('ZREVRANGE', moving.keys[key], last, last, 'WITHSCORES')[2]) or floor
    moving.thresholds[key] = known
  end
  return known
end

-- Headers of packed lists. A RECORDED_BOARD without scores has six elements.
local SIX, EIGHT, TEN = '\150', '\152', '\154'

-- Makes a move and counts its ranks.
local function rank_move(words, at, moving)
  local key, before, score = words[at + MOVE.key], words[at + MOVE.before], words[at + MOVE.score]
  local board, run_day, group = words[at], words[at + MOVE.runDay], words[at + MOVE.group]
  local floor, max, tied = words[at + MOVE.floor], words[at + MOVE.max], words[at + MOVE.tied]
  local set, threshold = moving.keys[key], threshold_of(key, floor, max, moving)
  if before < threshold and score < threshold then
    put_score(words, at, moving, true)
    return SIX .. cmsgpack.pack(board, run_day, group, NO_RANK.off, NO_RANK.off, threshold)
  end
  write_held(moving, key)
  local previous = rank_of(set, before, tied and words[at + MOVE.oldMember], floor, max, threshold)
  put_score(words, at, moving)
  -- A user who was and stays above the last rank does not change who has it, nor one who was on a leaderboard that is not full.
  if before <= threshold or (score <= threshold and threshold ~= floor) then
    moving.thresholds[key] = nil
    threshold = threshold_of(key, floor, max, moving)
  end
  local rank = rank_of(set, score, tied and words[at + MOVE.member], floor, max, threshold)
  if words[at + MOVE.scores] then
    return EIGHT .. cmsgpack.pack(board, run_day, group, previous, rank, threshold, before, score)
  end
  return SIX .. cmsgpack.pack(board, run_day, group, previous, rank, threshold)
end

-- Of a wide tenant, the sets hold only some of the users: the scores are recorded instead of ranks, and the caller counts.
local function unranked(words, at)
  local board, run_day, group = words[at], words[at + MOVE.runDay], words[at + MOVE.group]
  local floor, before, score = words[at + MOVE.floor], words[at + MOVE.before], words[at + MOVE.score]
  local none = NO_RANK.unranked
  if not words[at + MOVE.tied] then
    return EIGHT .. cmsgpack.pack(board, run_day, group, none, none, floor, before, score)
  end
  local old_reached, reached = words[at + MOVE.oldReached], words[at + MOVE.reached]
  return TEN .. cmsgpack.pack(board, run_day, group, none, none, floor, before, score, old_reached, reached)
end

-- For a record that has none.
local NO_BOARDS = '\194'

local list_header
do
  local headers = {}

  list_header = function(size)
    local header = headers[size]
    if not header then
      header = size < 16 and string.char(144 + size) or '\220' .. string.char(math.floor(size / 256), size % 256)
      headers[size] = header
    end
    return header
  end
end

-- Makes a record's moves. `at`: where the words have their number, or false. Returns: a packed list of RECORDED_BOARD, without moves
-- that only change the group, and where the words go on. If nobody listens to ranks (`unheard`), only leaderboards that are heard are ranked; on others the scores of a call are written
-- together.
local function write_moves(words, at, moving)
  if not words[at] then
    return NO_BOARDS, at + 1
  end
  local ranked, count = '', 0
  local moves_end = at + 1 + words[at] * MOVE.size
  for move = at + 1, moves_end - 1, MOVE.size do
    if not words[move + MOVE.ranked] then
      put_score(words, move, moving)
      moving.thresholds[words[move + MOVE.key]] = nil
    elseif moving.unheard and not words[move + MOVE.heard] then
      put_score(words, move, moving, true)
    else
      count = count + 1
      if moving.is_wide then
        put_score(words, move, moving, true)
        ranked = ranked .. unranked(words, move)
      else
        ranked = ranked .. rank_move(words, move, moving)
      end
    end
  end
  return list_header(count) .. ranked, moves_end
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
