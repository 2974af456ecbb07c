--- @include "points"
--- @include "replay"

-- The user's total of the plan's metric and current streak, for the answer to an event that changes nothing. The streak is settled
-- on a copy. Returns: the total without its peak, RECORDED_STREAK, the user's local day.
local function standing(state, plan, now)
  local total = state[USER.totals][plan.metric] or { 0, 0 }
  local day = math.floor((now + (state[USER.offsetSeconds] or 0) * 1000) / 86400000)
  local copy = unpack_state(pack_state(state))
  settle_streaks(copy, plan.streak, plan.periods[day - plan.firstDay + 1])
  return { total[TOTAL.whole], total[TOTAL.micros] }, streak_record(copy, plan.streak, false, day), day
end

-- Fields that only few events' records have, by RECORD; nil if there are none. `completed`: achievement numbers, or nil.
local function more_of_event(event, outcome, state, is_new, completed)
  local due, guards = outcome.due_moved or event.moved, event.plan.guards
  local released = guards and guards.release
  if
    not (is_new or completed or due or outcome.active_before or event.changed or outcome.quests)
    and not (event.occurred or outcome.settlements or event.clamped or released)
  then
    return nil
  end
  local more = {
    [RECORD.isNew] = is_new and 1 or nil,
    [RECORD.activeBefore] = outcome.active_before,
    [RECORD.changed] = event.changed and 1 or nil,
    [RECORD.completed] = completed,
    [RECORD.quests] = outcome.quests,
    [RECORD.due] = due and 1 or nil,
    [RECORD.guard] = event.clamped,
    [RECORD.released] = released and 1 or nil,
  }
  if event.occurred then
    occurred_record(more, event.occurred)
  end
  settled_record(more, outcome.settlements, state)
  return more
end

-- The record of an applied event, as a list by EVENT_RECORD; `write_record` adds its leaderboards. A list costs 9,000 instructions
-- less than a map (`npm run bench:instructions`). `attributes`, `key`: '' for none.
local function event_record(event, outcome, state, is_new, event_id, user_id, attributes, key)
  local plan = event.plan
  local total = state[USER.totals][plan.metric]
  local points = points_record(outcome.ledgers)
  local completed = #outcome.completed > 0 and outcome.completed or nil
  -- In the order of EVENT_RECORD. Missing fields are false, because a list with gaps would be packed as a map.
  return {
    KIND.event,
    event_id,
    user_id,
    event.now,
    outcome.day,
    plan.metric,
    event.whole,
    event.micros,
    total[TOTAL.whole],
    total[TOTAL.micros],
    streak_record(state, plan.streak, outcome.extended, outcome.day),
    points or false,
    (outcome.extended or points or completed) and plan.version or false,
    attributes ~= '' and attributes,
    key ~= '' and key,
    false,
    more_of_event(event, outcome, state, is_new, completed),
  }
end
