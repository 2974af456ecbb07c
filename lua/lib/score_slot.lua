--- @include "run_place"

-- The user's score in a run of a board, at the returned index of the flat list `scores` (see `run_place`). It is made, with
-- score 0, where there is none.
-- `oldest`: first day of the oldest run that still takes events anywhere (-1: not known); scores of runs before it
-- are dropped: Postgres holds their final scores. So at most three are kept: a user who crosses the date
-- line may go back to the run before the last.
local function score_slot(scores, run_day, oldest)
  if scores[1] == run_day and run_day >= oldest and not scores[1 + SCORE.size] then
    return 1
  end
  for last = #scores - SCORE.micros, 1, -SCORE.size do
    if scores[last] >= oldest then
      break
    end
    for at = last + SCORE.micros, last, -1 do
      scores[at] = nil
    end
  end
  local at = run_place(scores, run_day)
  if scores[at] ~= run_day then
    for offset, value in ipairs({ run_day, '', 0, 0 }) do
      table.insert(scores, at + offset - 1, value)
    end
  end
  return at
end
