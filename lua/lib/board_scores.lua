--- @include "decimals"
--- @include "teams"
--- @include "users"

-- Position of a user's scores on a leaderboard in the flat list `scores` of SCORE (by leaderboard number, newest run first),
-- or where they would be. Searches linearly, because taking the list out of the state costs more per score than a step.
-- `from`: a position not after the leaderboard's, so that leaderboards in ascending order share one walk; nil for the first.
local function board_place(scores, no, from)
  local at = from or 1
  while scores[at] and scores[at] < no do
    at = at + SCORE.size
  end
  return at
end

-- Position of the score in a run of a leaderboard, or where it would be. `from`: see `board_place`.
local function run_place(scores, no, run_day, from)
  local at = board_place(scores, no, from)
  while scores[at] == no and scores[at + SCORE.runDay] > run_day do
    at = at + SCORE.size
  end
  return at
end

local function is_score(scores, at, no, run_day)
  return scores[at] == no and scores[at + SCORE.runDay] == run_day
end

-- When scores were reached: see SCORE_TIME.
local score_times = {}
do
  -- The time of the last event, and how far (microseconds) it may be ahead of the clock.
  local last, most_ahead = 0, 60000000

  -- Returns: the time, 0 if unknown; its position in the list of times, or where it would be.
  function score_times.find(state, no, run_day)
    local times, at = state[USER.scoreTimes] or {}, 1
    while times[at] do
      if times[at + SCORE_TIME.board] == no and times[at + SCORE_TIME.runDay] == run_day then
        return times[at + SCORE_TIME.reached], at
      end
      at = at + SCORE_TIME.size
    end
    return 0, at
  end

  -- Notes a time. `at`: its position, if known.
  function score_times.put(state, no, run_day, reached, at)
    local times = state[USER.scoreTimes] or {}
    if not at then
      at = select(2, score_times.find(state, no, run_day))
    end
    times[at], times[at + SCORE_TIME.runDay], times[at + SCORE_TIME.reached] = no, run_day, reached
    state[USER.scoreTimes] = times
  end

  -- When an event happened. One without a time of its own follows the event that was applied before, also within a millisecond,
  -- and if the clock goes back by up to a minute. The last time is lost when the functions are loaded again.
  function score_times.of_event(event)
    if event.occurred then
      return 1000 * event.occurred.at
    end
    if not event.time then
      local clock = 1000 * event.now
      last = (last < clock or last > clock + most_ahead) and clock or last + 1
      event.time = last
    end
    return event.time
  end

  -- When the score was reached that an event makes: of equal best values, the first one counts; of a sum, the last event with a
  -- value other than 0, or else the first event.
  -- `before`: the time of the previous score, nil without one; `is_equal`: the score stays the same.
  function score_times.after(board, event, before, is_equal)
    local reached, fold = score_times.of_event(event), board.fold
    if fold == 'last' then
      return math.max(reached, before or 0)
    elseif fold then
      return is_equal and math.min(reached, before) or reached
    elseif event.whole ~= 0 or event.micros ~= 0 then
      return math.max(reached, before or 0)
    elseif before and before >= 0 then
      return before
    end
    return math.max(-reached, before or -reached)
  end
end

-- The user's score in a run of a leaderboard: a list and the index in it. Creates it with score 0 if necessary. If it was
-- created, or runs before `oldest` exist, the leaderboard's scores become a separate list in `blocks`, and `with_blocks`
-- puts all of these in place at once. So the first event of a day with 100 new runs costs only one walk.
-- `oldest`: first day of the oldest run that still accepts events anywhere, or whose sorted sets Redis still holds. Scores of earlier
-- runs are dropped, because Postgres holds the final scores. At most three are kept while workers record final ranks in time: a user
-- who crosses the date line may return to the run before the last.
-- `from`: see `board_place`.
local function score_block(scores, no, run_day, oldest, from, blocks)
  local first = board_place(scores, no, from)
  local behind, place = first, nil
  while scores[behind] == no do
    if scores[behind + SCORE.runDay] == run_day then
      place = behind
    end
    behind = behind + SCORE.size
  end
  -- The oldest run is the last one.
  if place and scores[behind - SCORE.size + SCORE.runDay] >= oldest then
    return scores, place
  end
  local block, slot = {}, nil
  for at = first, behind, SCORE.size do
    local day = at < behind and scores[at + SCORE.runDay]
    if not slot and (not day or day <= run_day) then
      slot = #block + 1
      if day ~= run_day or day < oldest then
        block[slot + SCORE.board], block[slot + SCORE.runDay], block[slot + SCORE.group] = no, run_day, ''
        block[slot + SCORE.whole], block[slot + SCORE.micros] = 0, 0
      end
    end
    if day and day >= oldest then
      local free = #block + 1
      for offset = 0, SCORE.size - 1 do
        block[free + offset] = scores[at + offset]
      end
    end
  end
  blocks[#blocks + 1] = { first, behind, block }
  return block, slot
end

-- Replaces scores by blocks, in the order of their leaderboards.
local function with_blocks(scores, blocks)
  local list, size, at = {}, 0, 1
  local function take(from, first, last)
    for place = first, last do
      size = size + 1
      list[size] = from[place]
    end
  end
  for i = 1, #blocks do
    local first, behind, block = unpack(blocks[i])
    take(scores, at, first - 1)
    take(block, 1, #block)
    at = behind
  end
  take(scores, at, #scores)
  return list
end

-- '1:', '2:', …: converting a number to text costs as much as everything else.
local LENGTHS = {}
for length = 1, 64 do
  LENGTHS[length] = length .. ':'
end

-- The user's group on a leaderboard: the values of its breakdown attributes, each prefixed with its length so that group names are
-- unique; '' without a breakdown; nil if the user lacks a value. `groupName` of src/domain/user.ts builds the same names.
local function board_group(board, attributes)
  local groups = board.groups
  if not groups then
    return ''
  end
  if #groups == 1 then
    local value = attributes and attributes[groups[1]]
    return value and (LENGTHS[#value] or #value .. ':') .. value
  end
  local parts = {}
  for i, no in ipairs(groups) do
    local value = attributes and attributes[no]
    if not value then
      return nil
    end
    parts[i] = #value .. ':' .. value
  end
  return table.concat(parts, ',')
end

local function inside_window(board, second)
  local from, to = board.from, board.to
  if not from and not to then
    return true
  end
  from, to = from or 0, to or 86400
  if from <= to then
    return second >= from and second < to
  end
  return second >= from or second < to
end

-- Points that an event earned in a system.
local function points_earned(ledgers, system_no)
  for i = 1, #ledgers do
    local ledger = ledgers[i]
    if ledger.system.no == system_no then
      return ledger.total - ledger.before
    end
  end
  return 0
end

-- The score at a position as a double. Most are whole numbers.
local function double_at(scores, at)
  local whole, micros = scores[at + SCORE.whole], scores[at + SCORE.micros]
  return micros == 0 and whole or decimal_score(whole, micros)
end

-- What an event makes of a user's score on a leaderboard of a metric with another aggregate or order than the highest sum. In
-- ascending order (`sign`), scores are negated, so that the highest is always the best.
-- `place`: see `run_place`.
-- Writes: when the score was reached. Returns: whole, micros, whether it is the first score in the run; nil if the score and,
-- with `ties`, its time stay.
local function next_score(board, event, state, place, run_day)
  local scores, whole, micros, fold, no = state[USER.boards], event.whole, event.micros, board.fold, board.no
  if board.sign then
    whole, micros = 0 - whole, 0 - micros
  end
  local is_first = not is_score(scores, place, no, run_day)
  local old_whole, old_micros = scores[place + SCORE.whole], scores[place + SCORE.micros]
  if not fold and not is_first then
    whole, micros = decimal_add(old_whole, old_micros, whole, micros)
  end
  local is_equal = not is_first and whole == old_whole and micros == old_micros
  if not is_first and not is_equal and fold and fold ~= 'last' then
    if decimal_reaches(old_whole, old_micros, whole, micros) == (fold == 'max') then
      return nil
    end
  end
  if board.ties or fold == 'last' then
    local before, at = score_times.find(state, no, run_day)
    local reached = score_times.after(board, event, not is_first and before or nil, is_equal)
    if fold == 'last' and reached > score_times.of_event(event) then
      return nil
    end
    score_times.put(state, no, run_day, reached, at)
    is_equal = is_equal and (not board.ties or reached == before)
  end
  if is_equal then
    return nil
  end
  return whole, micros, is_first
end

-- Adds what an event earned to the user's scores. A user who lacks a value of the breakdown is not ranked but keeps the score (group
-- ''), which counts once there is a value. A user whose value changed moves with the score, whether the event earned anything or
-- not, at any time of day; a call that is not an event (`event.call`) moves the score only if it earned something.
-- A score of points is limited to the range of sums, as points are.
-- Writes: the state's boards and teams. Returns: a list of CHANGE for `rank_boards`; and the number of a leaderboard of the metric
-- whose score left the range, or nil.
local function score_boards(event, state, ledgers, outcome)
  -- Allocate room for the usual number of changes.
  local changes, left_on = { nil, nil, nil, nil }, nil
  local boards, row = event.plan.boards, outcome.day - event.plan.firstDay + 1
  local scores, attributes = state[USER.boards], state[USER.attributes]
  -- The plan's leaderboards are in ascending order of numbers, like the scores.
  local from, blocks = 1, nil
  for i = 1, #boards do
    local board = boards[i]
    local no, by, groups, floor = board.no, board.by, board.groups, board.floor
    local run_day, second = board.runs[row], outcome.second
    if event.occurred and by == 'metric' then
      second = event.occurred.second
      run_day = not event.occurred.late and run_day or event.occurred.late.runs[tostring(no)]
    end
    if run_day and run_day >= 0 then
      local inside = not (board.from or board.to) or inside_window(board, second)
      -- What the event adds to the score or, on leaderboards of streaks or with a floor, the new score.
      local whole, micros, is_first = 0, 0, false
      local at = board_place(scores, no, from)
      from = at
      local earned, old_reached = false, nil
      if inside and by == 'metric' then
        if floor then
          old_reached = board.ties and score_times.find(state, no, run_day)
          whole, micros, is_first = next_score(board, event, state, run_place(scores, no, run_day, at), run_day)
          earned = whole ~= nil
        else
          whole, micros = event.whole, event.micros
          earned = whole ~= 0 or micros ~= 0
        end
      elseif inside and by == 'points' then
        whole = points_earned(ledgers, board.system)
        earned = whole ~= 0
      elseif inside and by == 'streak' then
        whole = outcome.length
        earned = (scores[at] == no and scores[at + SCORE.whole] or 0) ~= whole
      end
      -- Most users have a score in only one run of a leaderboard, the current one, which this check finds.
      local is_only = scores[at] == no and scores[at + SCORE.runDay] == run_day and scores[at + SCORE.size] ~= no
      local group, moved = '', false
      if groups then
        group = board_group(board, attributes)
        if group and not event.call then
          local place = is_only and at or run_place(scores, no, run_day, at)
          moved = (is_only or is_score(scores, place, no, run_day)) and scores[place + SCORE.group] ~= group
        end
      end
      if earned or moved then
        local list = scores
        local oldest = board.kept or board.runs[1]
        if not is_only or run_day < oldest then
          blocks = blocks or {}
          list, at = score_block(scores, no, run_day, oldest, at, blocks)
        end
        local old_group, old_score, team_moves = list[at + SCORE.group], is_first and floor or double_at(list, at), nil
        if earned and (floor or by == 'streak') then
          list[at + SCORE.whole], list[at + SCORE.micros] = whole, micros
          if floor and not board.fold then
            local sign = board.sign or 1
            if leaves_range(whole, sign * event.whole, sign * event.micros) then
              left_on = no
            end
          end
        elseif earned then
          local sum, sum_micros = decimal_add(list[at + SCORE.whole], list[at + SCORE.micros], whole, micros)
          if by == 'points' then
            sum, sum_micros = clamped(sum, sum_micros)
          elseif leaves_range(sum, whole, micros) then
            left_on = no
          end
          if board.team then
            local added, micros_added = decimal_add(sum, sum_micros, -list[at + SCORE.whole], -list[at + SCORE.micros])
            if outcome.applied_ms then
              team_moves = teams.correct(state, board, run_day, added, micros_added, outcome.applied_ms)
            else
              team_moves = teams.credit(state, board, run_day, added, micros_added, event.now or outcome.now)
            end
          end
          list[at + SCORE.whole], list[at + SCORE.micros] = sum, sum_micros
        end
        if group then
          if groups and old_group == '' then
            old_score = floor or 0
          end
          list[at + SCORE.group] = group
          -- Hidden users have the same state as others, but are in no sorted set.
          if not state[USER.hidden] then
            local change = { board, run_day, group, old_group, old_score, double_at(list, at), not earned, team_moves }
            if floor and board.ties then
              local reached = score_times.find(state, no, run_day)
              change[CHANGE.oldReached], change[CHANGE.reached] = old_reached or reached, reached
            end
            changes[#changes + 1] = change
          end
        end
      end
    end
  end
  if blocks then
    state[USER.boards] = with_blocks(scores, blocks)
  end
  return changes, left_on
end

local function score_call(plan, state, ledgers, outcome)
  return (score_boards({ plan = plan, whole = 0, micros = 0, call = true }, state, ledgers, outcome))
end
