--- @include "board_group"
--- @include "decimal_add"
--- @include "decimal_score"

-- The user's score in a run of a board: { run day, group, whole, micros } at `at` in the flat list `scores`
-- (newest run first; at most the run before it is kept, which may still take events from other zones).
local function score_slot(scores, run_day)
  for at = 1, #scores, 4 do
    if scores[at] == run_day then
      return at
    end
  end
  local at = (scores[1] and scores[1] > run_day) and 5 or 1
  for offset, value in ipairs({ run_day, '', 0, 0 }) do
    table.insert(scores, at + offset - 1, value)
  end
  for last = #scores, 9, -1 do
    scores[last] = nil
  end
  return at
end

-- Whether a local time of day (seconds) is inside a board's window; a window may span midnight.
local function inside_window(board, second)
  local from, to = board.from or 0, board.to or 86400
  if from <= to then
    return second >= from and second < to
  end
  return second >= from or second < to
end

-- Adds what an event earned to the user's scores on the boards.
-- Writes: state.b { board no = scores }. Returns: a list of changes { board, run day, group, old group,
-- old score, score }, for `rank_boards`.
local function score_boards(event, state, ledgers, outcome)
  local changes = {}
  for _, board in ipairs(event.plan.boards) do
    local run_day = board.runs[outcome.day - event.plan.firstDay + 1]
    local group = run_day and run_day >= 0 and board_group(board, state.a)
    if group and inside_window(board, outcome.second) then
      local whole, micros = 0, 0
      if board.by == 'metric' then
        whole, micros = event.whole, event.micros
      elseif board.by == 'points' then
        for _, ledger in ipairs(ledgers) do
          if ledger.system.no == board.system then
            whole = ledger.total - ledger.before
          end
        end
      end
      local scores = state.b[board.no]
      local streak_score = board.by == 'streak' and outcome.length
      if whole ~= 0 or micros ~= 0 or (streak_score and (scores and scores[3] or 0) ~= streak_score) then
        if not scores then
          scores = {}
          state.b[board.no] = scores
        end
        local at = score_slot(scores, run_day)
        local old_group, old_score = scores[at + 1], decimal_score(scores[at + 2], scores[at + 3])
        if streak_score then
          scores[at + 2] = streak_score
        else
          scores[at + 2], scores[at + 3] = decimal_add(scores[at + 2], scores[at + 3], whole, micros)
        end
        scores[at + 1] = group
        local score = decimal_score(scores[at + 2], scores[at + 3])
        changes[#changes + 1] = { board, run_day, group, old_group, old_score, score }
      end
    end
  end
  return changes
end
