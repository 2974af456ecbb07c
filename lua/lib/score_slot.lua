--- @include "run_place"

-- The user's score in a run of a board, at the returned index of the flat list `scores` (see `board_place`). It is made, with
-- score 0, where there is none. Cost: O(scores); where several may have to be made, see `score_block`.
local function score_slot(scores, no, run_day)
  local at = run_place(scores, no, run_day)
  if not is_score(scores, at, no, run_day) then
    local size = #scores
    -- Room first, at the end: a list that is written from behind would become a map.
    for offset = 1, SCORE.size do
      scores[size + offset] = 0
    end
    for behind = size, at, -1 do
      scores[behind + SCORE.size] = scores[behind]
    end
    scores[at + SCORE.board], scores[at + SCORE.runDay], scores[at + SCORE.group] = no, run_day, ''
    scores[at + SCORE.whole], scores[at + SCORE.micros] = 0, 0
  end
  return at
end
