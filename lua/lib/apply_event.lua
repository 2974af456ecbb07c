--- @include "add_to_total"
--- @include "add_settlements"
--- @include "admit_user"
--- @include "streak_rule"
--- @include "settle_streaks"
--- @include "take_replay"
--- @include "extend_streak"
--- @include "guard_event"
--- @include "complete_achievements"
--- @include "open_ledgers"
--- @include "out_of_points"
--- @include "out_of_range"
--- @include "welcome_user"
--- @include "fire_triggers"
--- @include "close_ledgers"
--- @include "drop_gone_boards"
--- @include "score_boards"
--- @include "note_active_day"
--- @include "streak_at"

-- Applies one event to a decoded state, in memory: nothing is written to Redis. After refusals `o` and `v`, and what guards
-- stopped, the state is half changed and must be dropped; those of admit_user leave it as it was. `v` only comes where
-- `near_range_end` was true.
-- The order is the published one: user, guards, out-of-points check, total, streak, achievements, points, boards.
-- `event`: plan, now, whole, micros, sent (see upsert_user, which writes `changed`, `moved`, `left`), counted (numbers of the achievements and triggers
-- whose event-attribute conditions match), boosts (the user's own, by points system number), occurred (nil: now; else at,
-- when it happened, second of the local day then, and of a late one also `late`: see take_replay).
-- Returns: outcome { day, second, length, extended, due_moved, settlements, completed, ledgers, changes, first_of_day },
-- or nil and a refusal. `due_moved`: a streak was extended, in whichever frequency; `settlements`: see settle_streaks;
-- `first_of_day`: see note_active_day.
local function apply_event(event, state, is_new)
  local plan, now = event.plan, event.now
  local late, replayed = event.occurred and event.occurred.late, nil
  -- What the user is to be moved out of is the zone that the replay was made in; one who is new comes from nowhere.
  if late and not is_new then
    replayed = take_replay(state, late)
  end
  local refusal, settlements = admit_user(state, event.sent, now, plan, event)
  if refusal then
    return nil, refusal
  end
  if late then
    settlements = add_settlements(replayed or take_replay(state, late), settlements)
  end
  local local_second = math.floor(now / 1000) + (state[USER.offsetSeconds] or 0)
  local day = math.floor(local_second / 86400)
  local periods = plan.periods[day - plan.firstDay + 1]
  local stopped = plan.guards and guard_event(event, state, day)
  if stopped then
    return nil, stopped
  end
  -- A replay is to be made of what the guards leave of the value.
  if event.clamped and late and late.streaks and not (late.whole == event.whole and late.micros == event.micros) then
    return nil, { [RECORD.kind] = REFUSAL.outdated, [OUTDATED.whole] = event.whole, [OUTDATED.micros] = event.micros }
  end
  -- Fields that are set later are listed here so that the table is made with room for them.
  local outcome = {
    day = day,
    second = local_second % 86400,
    completed = {},
    peak_before = nil,
    peak_after = nil,
    peaks = nil,
    settlements = nil,
    due_moved = nil,
    extended = nil,
    length = nil,
    ledgers = nil,
    changes = nil,
    first_of_day = nil,
  }

  local ledgers = open_ledgers(plan, state, event.boosts)
  if is_new then
    welcome_user(ledgers, state, day)
  end

  local whole, micros = event.whole, event.micros
  outcome.peak_before, outcome.peak_after = add_to_total(state[USER.totals], plan.metric, whole, micros)
  if leaves_range(state[USER.totals][plan.metric][TOTAL.whole], whole, micros) then
    return nil,
      { [RECORD.kind] = REFUSAL.outOfRange, [OUT_OF_RANGE.metric] = plan.metric, [OUT_OF_RANGE.sum] = SUM.total }
  end
  for i = 1, #event.counted do
    local no = event.counted[i]
    outcome.peaks = outcome.peaks or {}
    outcome.peaks[no] = { add_to_total(state[USER.counts], no, whole, micros) }
    if leaves_range(state[USER.counts][no][TOTAL.whole], whole, micros) then
      return nil,
        {
          [RECORD.kind] = REFUSAL.outOfRange,
          [OUT_OF_RANGE.metric] = plan.metric,
          [OUT_OF_RANGE.sum] = SUM.count,
          [OUT_OF_RANGE.no] = no,
        }
    end
  end
  local blocking = plan.blocks and out_of_points(ledgers, outcome, state[USER.attributes])
  if blocking then
    return nil, { [RECORD.kind] = REFUSAL.outOfPoints, [BLOCKED.trigger] = blocking }
  end

  local settled = settle_streaks(state, plan.streak, periods, event.left)
  outcome.settlements = settlements and add_settlements(settlements, settled) or settled
  local rule = streak_rule(plan.streak, state[USER.streakRule])
  if late then
    outcome.due_moved, outcome.extended, outcome.late = true, late.extended, late
  elseif rule.on then
    -- Where any value meets a period, an event in one that is met changes nothing: so are most.
    local any_meets = #rule.metrics == 0 and not event.occurred
    for frequency = FREQUENCY.daily, FREQUENCY.monthly do
      local at, period = streak_at[frequency], periods[frequency]
      if not (any_meets and state[at + STREAK.lastPeriod] == period and state[at + STREAK.currentPeriod] == period) then
        local extended = extend_streak(state, at, rule, event, period, periods[frequency + ROW_OFFSET.start])
        local sum = state[at + STREAK.sums] and state[at + STREAK.sums][plan.metric]
        if sum and leaves_range(sum[TOTAL.whole], whole, micros) then
          return nil,
            { [RECORD.kind] = REFUSAL.outOfRange, [OUT_OF_RANGE.metric] = plan.metric, [OUT_OF_RANGE.sum] = SUM.period }
        end
        outcome.due_moved = outcome.due_moved or extended
        if frequency == plan.streak.frequency then
          outcome.extended = extended
        end
        -- A streak that begins on a day that a journey back brought again has the days from then before it.
        if
          frequency == FREQUENCY.daily
          and extended
          and state[USER.begunDay]
          and state[at + STREAK.currentPeriod] < state[USER.begunDay]
        then
          state[USER.begunDay] = state[at + STREAK.currentPeriod]
        end
      end
    end
  end
  outcome.length = state[streak_at[plan.streak.frequency] + STREAK.length]

  complete_achievements(state, plan.achievements, now, outcome.completed, late and late.most)
  blocking = fire_triggers(ledgers, event, state, outcome)
  if blocking then
    return nil, { [RECORD.kind] = REFUSAL.outOfPoints, [BLOCKED.trigger] = blocking }
  end
  close_ledgers(ledgers, state)
  outcome.ledgers = ledgers
  local left_on
  outcome.changes, left_on = score_boards(event, state, ledgers, outcome)
  if left_on then
    return nil,
      {
        [RECORD.kind] = REFUSAL.outOfRange,
        [OUT_OF_RANGE.metric] = plan.metric,
        [OUT_OF_RANGE.sum] = SUM.score,
        [OUT_OF_RANGE.no] = left_on,
      }
  end
  drop_gone_boards(plan, state)
  outcome.first_of_day = note_active_day(state, now)
  -- An event of a batch may come late.
  if plan.streak.before and state[USER.updatedMs] > now then
    state[USER.settledMs] = math.max(state[USER.updatedMs], state[USER.settledMs] or 0)
  elseif state[USER.settledMs] then
    state[USER.settledMs] = nil
  end
  state[USER.updatedMs] = now
  return outcome
end
