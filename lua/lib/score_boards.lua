--- @include "board_group"
--- @include "clamped"
--- @include "decimal_add"
--- @include "decimal_score"
--- @include "out_of_range"
--- @include "run_place"
--- @include "score_slot"

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

-- What an event earned on a board: whole, micros.
local function earned_on(board, event, ledgers)
  if board.by == 'metric' then
    return event.whole, event.micros
  elseif board.by == 'points' then
    for i = 1, #ledgers do
      local ledger = ledgers[i]
      if ledger.system.no == board.system then
        return ledger.total - ledger.before, 0
      end
    end
  end
  return 0, 0
end

-- The whole part of the score in the newest run of a board; 0 without one.
local function newest_score(scores, no)
  local at = board_place(scores, no)
  return scores[at] == no and scores[at + SCORE.whole] or 0
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
  local changes, left_on = {}, nil
  local boards, row = event.plan.boards, outcome.day - event.plan.firstDay + 1
  for i = 1, #boards do
    local board = boards[i]
    local run_day, second = board.runs[row], outcome.second
    if event.occurred and board.by == 'metric' then
      second = event.occurred.second
      run_day = not event.occurred.late and run_day or event.occurred.late.runs[tostring(board.no)]
    end
    if run_day and run_day >= 0 then
      local inside = inside_window(board, second)
      local whole, micros = 0, 0
      if inside then
        whole, micros = earned_on(board, event, ledgers)
      end
      local scores = state[USER.boards]
      local group = board_group(board, state[USER.attributes])
      local streak_score = inside and board.by == 'streak' and outcome.length
      local earned = whole ~= 0 or micros ~= 0 or (streak_score and newest_score(scores, board.no) ~= streak_score)
      local moved = false
      if board.groups and group and not event.call then
        local at = run_place(scores, board.no, run_day)
        moved = is_score(scores, at, board.no, run_day) and scores[at + SCORE.group] ~= group
      end
      if earned or moved then
        local at = score_slot(scores, board.no, run_day, board.runs[1])
        local old_group, old_score =
          scores[at + SCORE.group], decimal_score(scores[at + SCORE.whole], scores[at + SCORE.micros])
        if streak_score then
          scores[at + SCORE.whole] = streak_score
        else
          local sum, sum_micros = decimal_add(scores[at + SCORE.whole], scores[at + SCORE.micros], whole, micros)
          if board.by == 'points' then
            sum, sum_micros = clamped(sum, sum_micros)
          elseif leaves_range(sum, whole, micros) then
            left_on = board.no
          end
          scores[at + SCORE.whole], scores[at + SCORE.micros] = sum, sum_micros
        end
        if group then
          if board.groups and old_group == '' then
            old_score = 0
          end
          scores[at + SCORE.group] = group
          -- Who is hidden has the same state as anyone, and moves in no set.
          if not state[USER.hidden] then
            local score = decimal_score(scores[at + SCORE.whole], scores[at + SCORE.micros])
            changes[#changes + 1] = { board, run_day, group, old_group, old_score, score, not earned }
          end
        end
      end
    end
  end
  return changes, left_on
end
