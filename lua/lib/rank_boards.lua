--- @include "held_writes"
--- @include "teams"

-- The member of a user's score in a sorted set of a leaderboard with `ties`. The time goes before the user ID, such that of equal
-- scores the earliest one is the greatest member: `timedMember` (src/packed/state.ts) builds the same text.
local function member_of(user_id, reached)
  return string.format('%016.0f', TIMED_MEMBER.latest - math.abs(reached)) .. user_id
end

-- Removes a member from the sorted set of a run's group, and the group from the run's list of groups when it becomes empty, so
-- that a user who passes through many groups leaves none behind. The set's key is `prefix` and the rest; the list's key has
-- `g` for the `b` at the end of the prefix (src/redis/keys.ts).
-- Cost: O(log N).
local function leave_board(prefix, run, group, member)
  local key = prefix .. run .. ':' .. group
  write_held(key)
  if redis.call('ZREM', key, member) == 1 and group ~= '' and redis.call('EXISTS', key) == 0 then
    redis.call('SREM', string.gsub(prefix, 'b:$', 'g:') .. run, group)
  end
end

-- Removes a user from a sorted set, whichever member the user has in it.
local function leave_set(prefix, key, user_id, state)
  local run, group = string.match(string.sub(key, #prefix + 1), '^(%d+:%-?%d+):(.*)$')
  leave_board(prefix, run, group, user_id)
  local times = state[USER.scoreTimes] or {}
  for at = 1, #times, SCORE_TIME.size do
    if times[at + SCORE_TIME.board] .. ':' .. times[at + SCORE_TIME.runDay] == run then
      leave_board(prefix, run, group, member_of(user_id, times[at + SCORE_TIME.reached]))
    end
  end
end

-- Moves a user between the sorted sets of a run, from the old group to the new one, with the new score; scores up to the
-- leaderboard's floor are in no set. What the user earned for teams moves, too. Groups of a leaderboard with a breakdown are
-- also listed in a set, for readers of the whole run (see `leave_board` for its key).
-- `change`: a CHANGE. With an old score up to the floor, the user was in no set.
-- `later`: the new score may be held back (see held_writes); without it, it is written at once.
local function move_on_board(change, user_id, prefix, key, later)
  local board, run_day, group = change[CHANGE.board], change[CHANGE.runDay], change[CHANGE.group]
  local old_group, old_score, score = change[CHANGE.oldGroup], change[CHANGE.oldScore], change[CHANGE.score]
  if change[CHANGE.teams] then
    teams.hold(prefix, board.no, run_day, change[CHANGE.teams])
  end
  local floor = board.floor or 0
  local stood, stands = old_score > floor, score > floor
  local member, old_member = user_id, user_id
  -- Boards with `ties` have a floor, which most have not.
  if floor ~= 0 and board.ties then
    member, old_member = member_of(user_id, change[CHANGE.reached]), member_of(user_id, change[CHANGE.oldReached])
    if stood and stands and group == old_group and member ~= old_member then
      write_held(key)
      redis.call('ZREM', key, old_member)
    end
  end
  if stood and group ~= old_group then
    leave_board(prefix, board.no .. ':' .. run_day, old_group, old_member)
    stood = false
  end
  if stands and later then
    hold_score(key, score, member)
  elseif stands then
    write_held(key)
    redis.call('ZADD', key, text_of(score), member)
  elseif stood then
    leave_board(prefix, board.no .. ':' .. run_day, group, old_member)
  end
  if stands and board.groups and not stood then
    redis.call('SADD', string.gsub(prefix, 'b:$', 'g:') .. board.no .. ':' .. run_day, group)
  end
end

-- Moves a user on the leaderboards' sorted sets and returns the ranks. Equal scores share a rank: 1 + the number of members
-- above. A score up to the leaderboard's floor (default: 0) is not on it; with `max`, neither is a rank beyond it.
-- On a full leaderboard, the score of the last rank shows without counting that a lower user is not on it, which is true for
-- most. It is read once per call and leaderboard, as long as nobody passes it. A user who stays below it does not affect
-- what is known to the rest of the call, so such scores are held back and written together.
-- Of a wide tenant, the sets hold only some of the users: the scores are recorded instead of ranks, and the caller counts.
-- Returns, for changes that did more than move to another group: a list of { board no, run day, group, previous rank, rank,
-- threshold }; rank -1: not on the leaderboard. For leaderboards with `scores`, followed by the scores before and after.
-- `unheard`: ranks are needed only for leaderboards with `heard`. On others the scores are moved, those of a call together,
-- and nothing is counted or returned.
-- Cost: O(log N) per leaderboard.
local rank_boards
do
  -- The rank of a score above `floor`; -1 if it is below `lowest` or the rank is beyond `max`. `member`: whose score it is, on
  -- leaderboards on which equal scores do not share a rank. Cost: O(log N).
  local function rank_of(key, score, max, lowest, floor, member)
    if score <= floor or score < lowest then
      return -1
    end
    -- A member that is missing, after a fault, counts as the first of its score.
    local above = member and redis.call('ZREVRANK', key, member)
      or redis.call('ZCOUNT', key, '(' .. text_of(score), '+inf')
    local rank = 1 + above
    return (max and rank > max) and -1 or rank
  end

  -- The score of the last rank on a full leaderboard; `floor` if it is not full or has no maximum.
  local function threshold_of(key, max, floor)
    if not max then
      return floor
    end
    local thresholds = this_call.thresholds or held('thresholds')
    local known = thresholds[key]
    if not known then
      write_held(key)
      local last = text_of(max - 1)
      known = tonumber(redis.call('ZREVRANGE', key, last, last, 'WITHSCORES')[2]) or floor
      thresholds[key] = known
    end
    return known
  end

  local function run_prefix(prefix, no, run_day)
    local runs = this_call.runs or held('runs')
    local run = runs[no]
    if not run or run.day ~= run_day then
      run = { day = run_day, text = prefix .. text_of(no) .. ':' .. text_of(run_day) .. ':' }
      runs[no] = run
    end
    return run.text
  end

  rank_boards = function(changes, user_id, call, unheard)
    local prefix = call.board_prefix
    -- Allocate room for the usual number.
    local ranked, thresholds = { nil, nil, nil, nil }, this_call.thresholds or held('thresholds')
    for i = 1, #changes do
      local change = changes[i]
      local board, run_day, group, old_group =
        change[CHANGE.board], change[CHANGE.runDay], change[CHANGE.group], change[CHANGE.oldGroup]
      local old_score, score, max, floor = change[CHANGE.oldScore], change[CHANGE.score], board.max, board.floor or 0
      local run = run_prefix(prefix, board.no, run_day)
      local key = run .. group
      if group ~= old_group then
        thresholds[run .. old_group] = nil
      end
      if change[CHANGE.onlyGroup] then
        move_on_board(change, user_id, prefix, key)
        thresholds[key] = nil
      elseif unheard and not board.heard then
        move_on_board(change, user_id, prefix, key, true)
      elseif call.wide then
        move_on_board(change, user_id, prefix, key, true)
        local before, unranked = group == old_group and old_score or floor, NO_RANK.unranked
        ranked[#ranked + 1] = {
          board.no,
          run_day,
          group,
          unranked,
          unranked,
          floor,
          before,
          score,
          change[CHANGE.oldReached],
          change[CHANGE.reached],
        }
      else
        local threshold, before = threshold_of(key, max, floor), group == old_group and old_score or floor
        if before < threshold and score < threshold then
          move_on_board(change, user_id, prefix, key, true)
          ranked[#ranked + 1] = { board.no, run_day, group, -1, -1, threshold }
        else
          write_held(key)
          local member, old_member
          if floor ~= 0 and board.ties then
            member, old_member =
              member_of(user_id, change[CHANGE.reached]), member_of(user_id, change[CHANGE.oldReached])
          end
          local previous = rank_of(key, before, max, threshold, floor, old_member)
          move_on_board(change, user_id, prefix, key)
          -- A user who was and stays above the last rank does not change who has it.
          if threshold == floor or before <= threshold or score <= threshold then
            thresholds[key] = nil
            threshold = threshold_of(key, max, floor)
          end
          local record =
            { board.no, run_day, group, previous, rank_of(key, score, max, threshold, floor, member), threshold }
          if board.scores then
            record[RECORDED_BOARD.previousScore], record[RECORDED_BOARD.score] = before, score
          end
          ranked[#ranked + 1] = record
        end
      end
    end
    return ranked
  end
end
