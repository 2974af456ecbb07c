-- Where a user's scores on a board are, or would be, in the flat list `scores` of SCORE: by number of the board, newest run
-- first. A walk, since taking the list out of the state has cost more for each score than a step does.
local function board_place(scores, no)
  local at = 1
  while scores[at] and scores[at] < no do
    at = at + SCORE.size
  end
  return at
end

-- Where the score in a run of a board is, or would be.
local function run_place(scores, no, run_day)
  local at = board_place(scores, no)
  while scores[at] == no and scores[at + SCORE.runDay] > run_day do
    at = at + SCORE.size
  end
  return at
end

-- Whether the score at a place is the one in a run of a board.
local function is_score(scores, at, no, run_day)
  return scores[at] == no and scores[at + SCORE.runDay] == run_day
end
