--- @include "settle_streaks"

-- Makes a pause: not before today, and on no day that is paused already.
local function make_pause(state, pause, day, record)
  if pause[1] < day then
    return 'past'
  end
  local pauses = state.pa or {}
  local place = 1
  for at, other in ipairs(pauses) do
    if other[1] <= pause[2] and other[2] >= pause[1] then
      return 'overlap'
    end
    if other[1] < pause[1] then
      place = at + 1
    end
  end
  if #pauses >= 100 then
    return 'many'
  end
  table.insert(pauses, place, pause)
  state.pa = pauses
  record.pa = { pause }
end

-- Deletes a pause, as it was made: days that are over stay paused, today does not.
local function delete_pause(state, pause, day, record)
  for at, held in ipairs(state.pa or {}) do
    if held[3] == pause[3] then
      if held[2] < day and pause[2] >= day then
        return 'gone'
      end
      held[2] = math.min(held[2], day - 1)
      record.pa = { { held[1], held[2], held[3] } }
      if held[2] < held[1] then
        table.remove(state.pa, at)
        state.pa = #state.pa > 0 and state.pa or nil
      end
      return nil
    end
  end
  if pause[2] >= day then
    return 'gone'
  end
  record.pa = { pause }
end

-- Gives the streak its greatest length of the window back: of those lost before, and of what was lost only now; of
-- equals the latest. A period that is met already is not met again; else the streak waits for it. The streak that there
-- is gives way to it.
local function restore_streak(state, best, at)
  local frequency = at.rule.frequency
  local streak, current = state.s[frequency], at.row[frequency]
  local length, first = best.length, best.first
  for _, each in ipairs(at.told) do
    if each[1] == frequency and each[2] == 3 and each[4] >= best.since and each[5] >= length then
      first, length = each[3], each[5]
    end
  end
  if length <= streak[1] then
    return 'none'
  end
  if streak[1] > 0 then
    local last = first_day(frequency, streak[3] + 1, at.row) - 1
    at.told[#at.told + 1] = { frequency, 5, streak[2], last, streak[1] }
  end
  streak[1], streak[2], streak[3] = length, first, math.max(streak[3], current - 1)
  at.told[#at.told + 1] = { frequency, 4, first, at.row[1], length }
end

-- Applies one change of an administrator to a settled state. `change`: freeze (true: give one, up to `max`), pause or
-- unpause { first day, last day, id }, or restore { length, first, since }: the longest streak that was lost on or after
-- the day `since`. `at`: rule (the plan's streak), row (of the plan's periods), told and record, which are added to.
-- Returns: nil, or why not: full, past, overlap, many, gone, none.
local function change_streak(state, change, at)
  if change.freeze then
    if (state.fz or 0) >= change.max then
      return 'full'
    end
    state.fz = (state.fz or 0) + 1
  elseif change.pause then
    return make_pause(state, change.pause, at.row[1], at.record)
  elseif change.unpause then
    return delete_pause(state, change.unpause, at.row[1], at.record)
  elseif change.restore then
    return restore_streak(state, change.restore, at)
  end
end
