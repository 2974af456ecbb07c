-- Where a user's scores on a board are, or would be, in the flat list `scores` of SCORE: by number of the board, newest run
-- first. A walk, since taking the list out of the state has cost more for each score than a step does. `from`: a place that
-- the board's is not before, so that boards in the order of their numbers take one walk together; nil: the first.
local function board_place(scores, no, from)
  local at = from or 1
  while scores[at] and scores[at] < no do
    at = at + SCORE.size
  end
  return at
end

-- Where the score in a run of a board is, or would be. `from`: see `board_place`.
local function run_place(scores, no, run_day, from)
  local at = board_place(scores, no, from)
  while scores[at] == no and scores[at + SCORE.runDay] > run_day do
    at = at + SCORE.size
  end
  return at
end

-- Whether the score at a place is the one in a run of a board.
local function is_score(scores, at, no, run_day)
  return scores[at] == no and scores[at + SCORE.runDay] == run_day
end
