--- @include "run_place"

-- Takes the scores on a board in runs before `oldest` out of the list.
local function drop_old_runs(scores, no, oldest)
  local at = run_place(scores, no, oldest - 1)
  while scores[at] == no do
    for _ = 1, SCORE.size do
      table.remove(scores, at)
    end
  end
end

-- The user's score in a run of a board, at the returned index of the flat list `scores` (see `board_place`). It is made, with
-- score 0, where there is none.
-- `oldest`: first day of the oldest run that still takes events anywhere (-1: not known); scores of runs before it
-- are dropped: Postgres holds their final scores. So at most three are kept: a user who crosses the date
-- line may go back to the run before the last.
local function score_slot(scores, no, run_day, oldest)
  local at = board_place(scores, no)
  if is_score(scores, at, no, run_day) and run_day >= oldest and scores[at + SCORE.size] ~= no then
    return at
  end
  drop_old_runs(scores, no, oldest)
  at = run_place(scores, no, run_day)
  if not is_score(scores, at, no, run_day) then
    for offset, value in ipairs({ no, run_day, '', 0, 0 }) do
      table.insert(scores, at + offset - 1, value)
    end
  end
  return at
end
