-- Takes the scores on boards that no longer exist out of the user's state, with the first event of a UTC day: nobody reads
-- them, and they would stay for ever. `plan.present`: { newest, boards }: a board with a number above the newest is of
-- a catalog that the sender of this plan does not have yet.
local function drop_gone_boards(plan, state)
  local today_ms = (plan.firstDay + 1) * 86400000
  if state[USER.updatedMs] >= today_ms then
    return
  end
  local scores, kept = state[USER.boards], {}
  for at = 1, #scores, SCORE.size do
    local no = scores[at]
    if no > plan.present.newest or plan.present.boards[tostring(no)] then
      for offset = 0, SCORE.size - 1 do
        kept[#kept + 1] = scores[at + offset]
      end
    end
  end
  state[USER.boards] = kept
end
