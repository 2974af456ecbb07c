-- Where the score in a run is, or would be, in the flat list `scores` of a user's scores on a board: { run day, group,
-- whole, micros }, newest run first.
local function run_place(scores, run_day)
  local at = 1
  while scores[at] and scores[at] > run_day do
    at = at + SCORE.size
  end
  return at
end
