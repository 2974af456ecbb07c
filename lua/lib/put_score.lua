--- @include "board_scores"

-- Replaces a user's score in a run of a leaderboard, and its group. A score equal to the leaderboard's floor is removed.
-- Returns: the score (as a double) before, the score now, the group before; on leaderboards with `ties` also when the scores were
-- reached, before and now.
-- Cost: O(scores). For several new scores, `score_block` is faster.
local function put_score(state, board, run_day, group, whole, micros, reached)
  local scores, no, floor = state[USER.boards], board.no, board.floor or 0
  local at = run_place(scores, no, run_day)
  local old_group, old_score, old_reached = '', floor, board.ties and score_times.find(state, no, run_day) or nil
  local is_there, size = is_score(scores, at, no, run_day), #scores
  if is_there then
    old_group = scores[at + SCORE.group]
    old_score = decimal_score(scores[at + SCORE.whole], scores[at + SCORE.micros])
  end
  if whole == board.floor then
    for place = is_there and at or size + 1, size do
      scores[place] = scores[place + SCORE.size]
    end
    return old_score, floor, old_group, old_reached, old_reached
  end
  if not is_there then
    -- Append first: a list that is filled from the end would become a map.
    for offset = 1, SCORE.size do
      scores[size + offset] = 0
    end
    for behind = size, at, -1 do
      scores[behind + SCORE.size] = scores[behind]
    end
    scores[at + SCORE.board], scores[at + SCORE.runDay] = no, run_day
  end
  scores[at + SCORE.group], scores[at + SCORE.whole], scores[at + SCORE.micros] = group, whole, micros
  if board.ties and (reached or 0) == 0 then
    reached = old_reached
  end
  if board.fold == 'last' or board.ties then
    score_times.put(state, no, run_day, reached or 0)
  end
  return old_score, decimal_score(whole, micros), old_group, old_reached, board.ties and reached or nil
end
