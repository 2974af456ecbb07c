--- @include "streak_at"

-- The scores of such a state as one list: they were a list a board, each without the board's number.
local function scores_of(boards)
  local numbers, scores = {}, {}
  for no in pairs(boards) do
    numbers[#numbers + 1] = no
  end
  table.sort(numbers)
  for _, no in ipairs(numbers) do
    for at, value in ipairs(boards[no]) do
      if (at - 1) % (SCORE.size - SCORE.runDay) == 0 then
        scores[#scores + 1] = no
      end
      scores[#scores + 1] = value
    end
  end
  return scores
end

-- A state that an earlier version wrote: one map (OLD_USER), its streaks a list of lists.
local function from_old_form(old)
  local state = {
    [USER.createdMs] = old[OLD_USER.createdMs],
    [USER.updatedMs] = old[OLD_USER.updatedMs],
    [USER.activeDay] = old[OLD_USER.activeDay],
    [USER.totals] = old[OLD_USER.totals],
    [USER.counts] = old[OLD_USER.counts],
    [USER.points] = old[OLD_USER.points],
    [USER.completions] = old[OLD_USER.completions],
    [USER.boards] = scores_of(old[OLD_USER.boards]),
    [USER.zone] = old[OLD_USER.zone],
    [USER.offsetSeconds] = old[OLD_USER.offsetSeconds],
    [USER.offsetUntilMs] = old[OLD_USER.offsetUntilMs],
    [USER.attributes] = old[OLD_USER.attributes],
    [USER.name] = old[OLD_USER.name],
    [USER.email] = old[OLD_USER.email],
    [USER.freezes] = old[OLD_USER.freezes],
    [USER.generation] = old[OLD_USER.generation],
    [USER.unsubscribed] = old[OLD_USER.unsubscribed],
    [USER.deviceTokens] = old[OLD_USER.deviceTokens],
    [USER.signUp] = old[OLD_USER.signUp],
    [USER.earnedDay] = old[OLD_USER.earnedDay],
    [USER.hidden] = old[OLD_USER.hidden],
    [USER.notifications] = old[OLD_USER.notifications],
    [USER.guarded] = old[OLD_USER.guarded],
    [USER.timePaid] = old[OLD_USER.timePaid],
    [USER.corrections] = old[OLD_USER.corrections],
    [USER.pauses] = old[OLD_USER.pauses],
    [USER.streakRule] = old[OLD_USER.streakRule],
    [USER.daysOff] = old[OLD_USER.daysOff],
    [USER.settledMs] = old[OLD_USER.settledMs],
    [USER.begunDay] = old[OLD_USER.begunDay],
    [USER.owed] = old[OLD_USER.owed],
    [USER.recomputed] = old[OLD_USER.recomputed],
    [USER.importedBy] = old[OLD_USER.importedBy],
    [USER.importedMs] = old[OLD_USER.importedMs],
  }
  for frequency, streak in ipairs(old[OLD_USER.streaks]) do
    put_streak(state, frequency, streak)
  end
  return state
end

-- Takes a user's packed state apart: a list by USER, for `pack_state`.
local function unpack_state(packed)
  local state = { cmsgpack.unpack(packed) }
  -- The old form is a single value.
  if state[USER.updatedMs] == nil then
    return from_old_form(state[USER.createdMs])
  end
  return state
end

-- Packs a state. What a user lacks behind the last that there is takes no place.
local function pack_state(state)
  for last = STATE.size, 1, -1 do
    if state[last] ~= nil then
      return cmsgpack.pack(unpack(state, 1, last))
    end
  end
end
