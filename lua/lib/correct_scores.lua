--- @include "board_group"
--- @include "clamped"
--- @include "decimal_add"
--- @include "decimal_score"
--- @include "run_place"

-- Adds to a user's scores in runs that are not final, which need not be those of today. A run in which the user has no score
-- keeps none: it is final, or older than what the state holds.
-- `moves`: { board (a PlanBoard without runs), run (its first day), whole and micros, or awards (whose points moved) } each.
-- `moved_by`: by award how its points moved the total, see `compensate`. Returns: a list of changes, see `score_boards`.
local function correct_scores(state, moves, moved_by)
  local changes = {}
  for _, move in ipairs(moves) do
    local board, scores = move.board, state[USER.boards]
    local whole, micros = move.whole or 0, move.micros or 0
    for _, award in ipairs(move.awards or {}) do
      whole = whole + (moved_by[award] or 0)
    end
    local at = run_place(scores, board.no, move.run)
    if is_score(scores, at, board.no, move.run) and (whole ~= 0 or micros ~= 0) then
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
