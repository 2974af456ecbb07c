--- @include "lib/user_call"

--[[
Applies an administrator's change to a user's streak, in one atomic step. Settles the streaks first, then gives a freeze, creates or
deletes a pause, resets the streaks, or restores the longest streak. Leaderboards of streaks follow.
src/domain/streaks/streak-machine.ts has the same rules.

KEYS: those of a call about one user (lib/user_call).
ARGV: those of such a call; body: userId, id, renewed (the zone's current offset), change (see change_streak).
Returns: a record `streaks`, or a refusal unknownUser, unknownOffset, unchanged, tooLarge, maybeStored (packed,
      src/packed/record.ts); the user's packed state; the position of the outbox after the call ('' if it wrote nothing).
Errors: those of Redis only.
Writes: outbox, user, boards.
Cost: O(size of the user + days unmet + boards × log N).
]]
-- Creates a pause. It must not begin before today nor overlap another pause.
local function make_pause(state, pause, day, record)
  if pause[PAUSE.firstDay] < day then
    return STREAK_REFUSAL.past
  end
  local pauses = state[USER.pauses] or {}
  local place = 1
  for at, other in ipairs(pauses) do
    if other[PAUSE.firstDay] <= pause[PAUSE.lastDay] and other[PAUSE.lastDay] >= pause[PAUSE.firstDay] then
      return STREAK_REFUSAL.overlap
    end
    if other[PAUSE.firstDay] < pause[PAUSE.firstDay] then
      place = at + 1
    end
  end
  if #pauses >= 100 then
    return STREAK_REFUSAL.many
  end
  table.insert(pauses, place, pause)
  state[USER.pauses] = pauses
  record[RECORD.pauses] = { pause }
end

-- Deletes a pause. Past days stay paused; today does not.
local function delete_pause(state, pause, day, record)
  for at, held in ipairs(state[USER.pauses] or {}) do
    if held[PAUSE.id] == pause[PAUSE.id] then
      if held[PAUSE.lastDay] < day and pause[PAUSE.lastDay] >= day then
        return STREAK_REFUSAL.gone
      end
      held[PAUSE.lastDay] = math.min(held[PAUSE.lastDay], day - 1)
      record[RECORD.pauses] = { { held[PAUSE.firstDay], held[PAUSE.lastDay], held[PAUSE.id] } }
      if held[PAUSE.lastDay] < held[PAUSE.firstDay] then
        table.remove(state[USER.pauses], at)
        state[USER.pauses] = #state[USER.pauses] > 0 and state[USER.pauses] or nil
      end
      return nil
    end
  end
  if pause[PAUSE.lastDay] >= day then
    return STREAK_REFUSAL.gone
  end
  record[RECORD.pauses] = { pause }
end

-- Ends the streaks as if they were lost now. A period that is already met is used up: activity from now on starts the next streak.
local function reset_streaks(state, at)
  if state[streak_at[at.rule.frequency] + STREAK.length] == 0 then
    return STREAK_REFUSAL.idle
  end
  for frequency = FREQUENCY.daily, FREQUENCY.monthly do
    local streak, current = streak_at[frequency], at.row[frequency]
    if state[streak + STREAK.length] > 0 then
      local last = first_day(frequency, state[streak + STREAK.lastPeriod] + 1, at.row) - 1
      at.settlements[#at.settlements + 1] =
        { frequency, SETTLED.reset, state[streak + STREAK.startDay], last, state[streak + STREAK.length] }
      state[streak + STREAK.length], state[streak + STREAK.startDay] = 0, -1
      if state[streak + STREAK.lastPeriod] >= current then
        state[streak + STREAK.lastPeriod], state[streak + STREAK.sums] = current - 1, nil
      end
    end
  end
end

-- Restores the longest streak lost within the window, including those that settling has just lost; of equal lengths the latest.
-- It replaces the current streak. If either streak has met the current period, the period stays met; otherwise the user still has to
-- meet it.
local function restore_streak(state, best, at)
  local frequency = at.rule.frequency
  local streak, current = streak_at[frequency], at.row[frequency]
  local length, first, last_day = best.length, best.first, best.last
  for _, each in ipairs(at.settlements) do
    if
      each[SETTLEMENT.frequency] == frequency
      and each[SETTLEMENT.kind] == SETTLED.lost
      and each[SETTLEMENT.lastDay] >= best.since
      and each[SETTLEMENT.length] >= length
    then
      first, last_day, length = each[SETTLEMENT.firstDay], each[SETTLEMENT.lastDay], each[SETTLEMENT.length]
    end
  end
  if length <= state[streak + STREAK.length] then
    return STREAK_REFUSAL.none
  end
  if state[streak + STREAK.length] > 0 then
    local last = first_day(frequency, state[streak + STREAK.lastPeriod] + 1, at.row) - 1
    at.settlements[#at.settlements + 1] =
      { frequency, SETTLED.replaced, state[streak + STREAK.startDay], last, state[streak + STREAK.length] }
  end
  state[streak + STREAK.length], state[streak + STREAK.startDay], state[streak + STREAK.lastPeriod] =
    length,
    first,
    math.max(
      state[streak + STREAK.lastPeriod],
      last_day >= at.row[frequency + ROW_OFFSET.start] and current or current - 1
    )
  at.settlements[#at.settlements + 1] = { frequency, SETTLED.restored, first, at.row[ROW.day], length }
end

-- Applies one change to a settled state. `change`: freeze (true: give one, up to `max`), pause or unpause { first day, last
-- day, id }, reset (true), or restore { length, first, last, since }: the longest streak lost or reset on or after the day
-- `since`.
-- `at`: rule (the plan's streak), row (of the plan's periods), settlements and record, which this function extends.
-- Returns: nil, or the reason for which nothing changed (STREAK_REFUSAL).
local function change_streak(state, change, at)
  if change.freeze then
    if (state[USER.freezes] or 0) >= change.max then
      return STREAK_REFUSAL.full
    end
    state[USER.freezes] = (state[USER.freezes] or 0) + 1
    at.settlements.beside = at.settlements.beside or {}
    table.insert(at.settlements.beside, { FREQUENCY.none, SETTLED.given, at.row[ROW.day], at.row[ROW.day], 1 })
  elseif change.pause then
    return make_pause(state, change.pause, at.row[ROW.day], at.record)
  elseif change.unpause then
    return delete_pause(state, change.unpause, at.row[ROW.day], at.record)
  elseif change.reset then
    return reset_streaks(state, at)
  elseif change.restore then
    return restore_streak(state, change.restore, at)
  end
end

local call, reply = open_user_call(KEYS, ARGV)
if reply then
  return reply
end
local user, plan = call.user, call.plan
local state = state_of(user)
local refusal, left = renew_offset(state, call.body.renewed, call.now)
if refusal then
  return unwritten(refusal)
end
local outcome = settle_user(state, plan, call.now, left)
outcome.settlements = outcome.settlements or {}
local made = {}
local at = { rule = plan.streak, row = outcome.row, settlements = outcome.settlements, record = made }
local why = change_streak(state, call.body.change, at)
if why then
  return unwritten({ [RECORD.kind] = REFUSAL.unchanged, [UNCHANGED.why] = why, [UNCHANGED.day] = outcome.day })
end
local record = user_record(KIND.streaks, user, call.now, outcome)
record[RECORD.id] = call.body.id
record[RECORD.byAdmin] = 1
record[RECORD.pauses] = made[RECORD.pauses]
outcome.length = state[streak_at[plan.streak.frequency] + STREAK.length]
return close_user_call(call, record, score_call(plan, state, {}, outcome))
