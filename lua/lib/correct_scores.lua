--- @include "board_group"
--- @include "clamped"
--- @include "decimal_add"
--- @include "decimal_score"
--- @include "run_place"

-- Adds to a user's scores in runs that are not final, which need not be those of today. A run in which the user has no score
-- keeps none: it is final, or older than what the state holds.
-- `moves`: { board (a PlanBoard without runs), run (its first day), whole and micros, or system (points that changed) } each.
-- `points`: what changed, as RECORDED_POINTS. Returns: a list of changes, see `score_boards`.
local function correct_scores(state, moves, points)
  local changes, moved = {}, {}
  for _, each in ipairs(points) do
    moved[each[RECORDED_POINTS.system]] = each[RECORDED_POINTS.after] - each[RECORDED_POINTS.before]
  end
  for _, move in ipairs(moves) do
    local board, scores = move.board, state[USER.boards][move.board.no]
    local whole, micros = move.whole or moved[move.system] or 0, move.micros or 0
    local at = scores and run_place(scores, move.run)
    if scores and scores[at] == move.run and (whole ~= 0 or micros ~= 0) then
      local group = scores[at + SCORE.group]
      local old_score = decimal_score(scores[at + SCORE.whole], scores[at + SCORE.micros])
      scores[at + SCORE.whole], scores[at + SCORE.micros] =
        clamped(decimal_add(scores[at + SCORE.whole], scores[at + SCORE.micros], whole, micros))
      -- One without a value of the breakdown is not ranked, nor is one who is hidden.
      if not state[USER.hidden] and (group ~= '' or not board.groups) then
        local score = decimal_score(scores[at + SCORE.whole], scores[at + SCORE.micros])
        changes[#changes + 1] = { board, move.run, group, group, old_score, score, false }
      end
    end
  end
  return changes
end
