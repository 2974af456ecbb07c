--- @include "board_group"
--- @include "clamped"
--- @include "decimal_add"
--- @include "decimal_score"
--- @include "run_place"
--- @include "score_boards"
--- @include "score_slot"

-- The points of awards whose days are in a run of a board of points. `points`: a list of RECORDED_POINTS; `today`: the day of
-- awards that do not say theirs.
local function awarded_in(board, run, points, today)
  local sum = 0
  for _, each in ipairs(points) do
    if board.by == 'points' and each[RECORDED_POINTS.system] == board.system then
      for _, award in ipairs(each[RECORDED_POINTS.awards]) do
        local day = award[AWARD.day] or today
        if day >= run.first and (not run.last or day <= run.last) then
          sum = sum + award[AWARD.awarded]
        end
      end
    end
  end
  return sum
end

-- Brings a user's scores in runs that are not final to what a recomputation planned, and into the groups of now. Boards of points
-- follow, besides, the awards that are made with it, in the runs of their days.
-- `planned`: scores, a list of { no, run, whole, micros }, with `group` and `instead` where a group comes back: that, if the user
-- is still in the other; keeps: no score may be lowered. `by`: boards, a list of { board, runs = a list of { first, last }, filled =
-- it was filled since, so that its scores need only the awards }; points, a list of RECORDED_POINTS; reverts: what is planned has
-- the awards in it.
-- Writes: the state's boards. Returns: changes, see score_boards; what was done, a list of RECOMPUTED_SCORE.
local function recompute_scores(state, planned, by, outcome)
  local wanted, changes, done = {}, {}, {}
  for _, each in ipairs(planned.scores) do
    wanted[each.no .. ':' .. each.run] = each
  end
  local function recompute(of, run)
    local board, plan = of.board, wanted[of.board.no .. ':' .. run.first]
    local whole, micros = 0, 0
    if (not by.reverts or of.filled) and inside_window(board, outcome.second) then
      whole = awarded_in(board, run, by.points, outcome.day)
    end
    if plan and not of.filled then
      whole, micros = decimal_add(whole, micros, plan.whole, plan.micros)
    end
    if planned.keeps and (whole < 0 or micros < 0) then
      whole, micros = 0, 0
    end
    local scores = state[USER.boards]
    local is_there = is_score(scores, run_place(scores, board.no, run.first), board.no, run.first)
    if not is_there and whole == 0 and micros == 0 or not (plan or whole ~= 0) then
      return
    end
    local at = score_slot(scores, board.no, run.first)
    local old_group = scores[at + SCORE.group]
    local old_score = decimal_score(scores[at + SCORE.whole], scores[at + SCORE.micros])
    local group = board_group(board, state[USER.attributes]) or ''
    if plan and plan.group then
      group = old_group == plan.instead and plan.group or old_group
    end
    if whole == 0 and micros == 0 and group == old_group then
      return
    end
    scores[at + SCORE.group] = group
    scores[at + SCORE.whole], scores[at + SCORE.micros] =
      clamped(decimal_add(scores[at + SCORE.whole], scores[at + SCORE.micros], whole, micros))
    done[#done + 1] = { board.no, run.first, whole, micros, old_group, group }
    -- Who is hidden, or lacks a value of the breakdown, keeps the score and holds no place.
    local stood = not state[USER.hidden] and not (board.groups and old_group == '')
    local stands = not state[USER.hidden] and not (board.groups and group == '')
    if stood or stands then
      local score = decimal_score(scores[at + SCORE.whole], scores[at + SCORE.micros])
      changes[#changes + 1] = { board, run.first, group, old_group, stood and old_score or 0, stands and score or 0 }
    end
  end
  for _, of in ipairs(by.boards) do
    for _, run in ipairs(of.runs) do
      recompute(of, run)
    end
  end
  return changes, done
end
