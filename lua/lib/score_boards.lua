--- @include "board_group"
--- @include "clamped"
--- @include "decimal_add"
--- @include "decimal_score"
--- @include "out_of_range"
--- @include "run_place"
--- @include "score_block"

-- Whether a local time of day (seconds) is inside a board's window; a window may span midnight.
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

-- The points that an event earned in a system.
local function points_earned(ledgers, system_no)
  for i = 1, #ledgers do
    local ledger = ledgers[i]
    if ledger.system.no == system_no then
      return ledger.total - ledger.before
    end
  end
  return 0
end

-- The score at a place as a double. Most are whole numbers.
local function double_at(scores, at)
  local whole, micros = scores[at + SCORE.whole], scores[at + SCORE.micros]
  return micros == 0 and whole or decimal_score(whole, micros)
end

-- Adds what an event earned to the user's scores on the boards. One who lacks a value of the breakdown is not
-- ranked, but keeps the score (its group is ''): it counts once there is a value. One whose value is another than
-- before moves with the score, whether the event earned anything or not, at any time of day;
-- a call that is no event (`event.call`) moves it only if it earned something.
-- A score of points stays in the range of sums by being cut off, as points are.
-- Writes: the state's boards. Returns: a list of changes { board, run day, group, old group,
-- old score, score, whether only the group changed }, for `rank_boards`; the number of a board of the metric whose score
-- has left the range, nil for none.
local function score_boards(event, state, ledgers, outcome)
  -- Room for what most events have.
  local changes, left_on = { nil, nil, nil, nil }, nil
  local boards, row = event.plan.boards, outcome.day - event.plan.firstDay + 1
  local scores, attributes = state[USER.boards], state[USER.attributes]
  -- Boards of a plan are in the order of their numbers, as the scores are.
  local from, blocks = 1, nil
  for i = 1, #boards do
    local board = boards[i]
    local no, by, groups = board.no, board.by, board.groups
    local run_day, second = board.runs[row], outcome.second
    if event.occurred and by == 'metric' then
      second = event.occurred.second
      run_day = not event.occurred.late and run_day or event.occurred.late.runs[tostring(no)]
    end
    if run_day and run_day >= 0 then
      local inside = not (board.from or board.to) or inside_window(board, second)
      local whole, micros, streak_score = 0, 0, nil
      local at = board_place(scores, no, from)
      from = at
      local earned = false
      if inside and by == 'metric' then
        whole, micros = event.whole, event.micros
        earned = whole ~= 0 or micros ~= 0
      elseif inside and by == 'points' then
        whole = points_earned(ledgers, board.system)
        earned = whole ~= 0
      elseif inside and by == 'streak' then
        streak_score = outcome.length
        earned = (scores[at] == no and scores[at + SCORE.whole] or 0) ~= streak_score
      end
      -- Most users have a score in one run of a board, which is the present one: what is to be found is found then.
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
        if not is_only or run_day < board.runs[1] then
          blocks = blocks or {}
          list, at = score_block(scores, no, run_day, board.runs[1], at, blocks)
        end
        local old_group, old_score = list[at + SCORE.group], double_at(list, at)
        if streak_score then
          list[at + SCORE.whole] = streak_score
        else
          local sum, sum_micros = decimal_add(list[at + SCORE.whole], list[at + SCORE.micros], whole, micros)
          if by == 'points' then
            sum, sum_micros = clamped(sum, sum_micros)
          elseif leaves_range(sum, whole, micros) then
            left_on = no
          end
          list[at + SCORE.whole], list[at + SCORE.micros] = sum, sum_micros
        end
        if group then
          if groups and old_group == '' then
            old_score = 0
          end
          list[at + SCORE.group] = group
          -- Who is hidden has the same state as anyone, and moves in no set.
          if not state[USER.hidden] then
            changes[#changes + 1] = { board, run_day, group, old_group, old_score, double_at(list, at), not earned }
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
