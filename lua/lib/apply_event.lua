--- @include "achievements"
--- @include "admit_user"
--- @include "board_scores"
--- @include "guards"
--- @include "points"
--- @include "quests"
--- @include "replay"

-- A user's streak rule: the plan's, overridden by the user's preferences. Users may always switch their streak off; their other
-- preferences count only if the plan has `rule.personal`, the list of existing metrics. Preferences for deleted metrics are ignored.
-- `own`: { on, all, metrics }: 0, 1 or -1 (the plan's value), and a list as in the plan (empty: the plan's).
local function streak_rule(rule, own)
  if not own then
    return rule
  end
  local on = rule.on and own[STREAK_RULE.enabled] ~= 0
  if not rule.personal then
    return on == rule.on and rule or { on = on, all = rule.all, metrics = rule.metrics }
  end
  local metrics = {}
  for _, metric in ipairs(own[STREAK_RULE.metrics]) do
    for _, no in ipairs(rule.personal) do
      if metric[THRESHOLD.metric] == no then
        metrics[#metrics + 1] = metric
      end
    end
  end
  return {
    on = on,
    all = own[STREAK_RULE.all] == 1 or own[STREAK_RULE.all] == -1 and rule.all,
    metrics = #metrics > 0 and metrics or rule.metrics,
  }
end

-- Adds a value to the current period of the settled streak at a place in a state (see streak_at), and extends the streak if that
-- meets the period. A period before the current one (a late event, a zone further west) starts nothing new.
-- `rule`: all (true: every metric must reach its threshold; false: one), metrics { { no, whole, micros } }.
-- Without metrics, any event with a positive value meets the period, and the earliest one extends the streak. A period that was
-- met stays met.
-- Returns: whether this value extended the streak. Same rule as src/domain/streaks/streak-machine.ts.
local function extend_streak(state, at, rule, event, current, first_day)
  if state[at + STREAK.currentPeriod] < current then
    state[at + STREAK.currentPeriod], state[at + STREAK.sums] = current, nil
  end
  local period, met = state[at + STREAK.currentPeriod], false
  if #rule.metrics == 0 then
    met = event.whole > 0 or event.micros > 0
  else
    local reached, sums = 0, state[at + STREAK.sums]
    for i = 1, #rule.metrics do
      local metric = rule.metrics[i]
      local sum = sums and sums[metric[THRESHOLD.metric]]
      if metric[THRESHOLD.metric] == event.plan.metric then
        sum = sum or { 0, 0 }
        sum[TOTAL.whole], sum[TOTAL.micros] =
          decimal_add(sum[TOTAL.whole], sum[TOTAL.micros], event.whole, event.micros)
        sums = sums or {}
        sums[metric[THRESHOLD.metric]] = sum
        state[at + STREAK.sums] = sums
      end
      if
        sum and decimal_reaches(sum[TOTAL.whole], sum[TOTAL.micros], metric[THRESHOLD.whole], metric[THRESHOLD.micros])
      then
        reached = reached + 1
      end
    end
    met = rule.all and reached == #rule.metrics or not rule.all and reached > 0
  end
  if not met then
    return false
  end
  local occurred = event.occurred
  if state[at + STREAK.lastPeriod] >= period then
    -- The event happened before the one that extended the streak, so it would have extended it itself.
    if occurred and #rule.metrics == 0 and state[at + STREAK.lastPeriod] == period then
      state[at + STREAK.extendedMs] = math.min(state[at + STREAK.extendedMs], occurred.at)
    end
    return false
  end
  if state[at + STREAK.length] == 0 then
    state[at + STREAK.startDay] = first_day
  end
  state[at + STREAK.length], state[at + STREAK.lastPeriod], state[at + STREAK.extendedMs] =
    state[at + STREAK.length] + 1, period, occurred and occurred.at or event.now
  return true
end

-- The out-of-points check. Returns the number of the first blocking metric trigger whose deduction, together with the others
-- of its system, would take the balance below zero, or nil.
-- Writes: ledger.left.
local function out_of_points(ledgers, outcome, attributes)
  for i = 1, #ledgers do
    local ledger = ledgers[i]
    local metric = ledger.system.metric
    for j = 1, #metric do
      local trigger = metric[j]
      if trigger.blocks then
        local multiples = crossed(trigger, outcome, attributes)
        if multiples > 0 and trigger.points < 0 then
          ledger.left = ledger.left + trigger.points * multiples
          if ledger.left < 0 then
            return trigger.no
          end
        end
      end
    end
  end
  return nil
end

-- Removes scores of leaderboards that no longer exist from the user's state, and the times of scores that are gone, at the first
-- event of a UTC day; otherwise they would stay forever. `plan.present`: { newest, boards }. A leaderboard with a number above the newest belongs to a newer
-- catalog, which the sender of this plan does not have yet.
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
  local times, kept_times = state[USER.scoreTimes], {}
  -- Whether another run followed more than a week ago. Until a run is cleared, usually a day after its end, its sets hold members
  -- by time, although their scores are gone.
  local function ended_long_ago(no, day)
    for at = 1, #times, SCORE_TIME.size do
      local later = times[at + SCORE_TIME.runDay]
      if times[at] == no and later > day and later < plan.firstDay - 6 then
        return true
      end
    end
    return false
  end
  for at = 1, times and #times or 0, SCORE_TIME.size do
    local no, day = times[at], times[at + SCORE_TIME.runDay]
    local present = no > plan.present.newest or plan.present.boards[tostring(no)]
    if present and (not ended_long_ago(no, day) or is_score(kept, run_place(kept, no, day), no, day)) then
      for offset = 0, SCORE_TIME.size - 1 do
        kept_times[#kept_times + 1] = times[at + offset]
      end
    end
  end
  state[USER.scoreTimes] = next(kept_times) and kept_times or nil
  local stays = state[USER.teams]
  if stays then
    local left = {}
    for at = 1, #stays, STAY.size do
      local no = stays[at]
      if no > plan.present.newest or plan.present.boards[tostring(no)] then
        for offset = 0, STAY.size - 1 do
          left[#left + 1] = stays[at + offset]
        end
      end
    end
    state[USER.teams] = #left > 0 and left or nil
  end
end

-- Records in a state that the user sent an event; call it before `updatedMs` changes. Returns, for the first event of
-- a UTC day, the UTC day of the event before it (-1: there was none), otherwise nil.
local function note_active_day(state, now)
  local day, before = math.floor(now / 86400000), state[USER.activeDay]
  if before >= day then
    return nil
  end
  state[USER.activeDay] = day
  return before
end

-- Whether an event might be refused because a sum would leave its range. False is certain.
local near_range_end
do
  -- Sums from here on may leave the range with one event: a value is at most 10^12, rounded up to the next whole unit.
  local NEAR_BOUND = LIMIT.sum - 1000000000001

  local function is_near(sum)
    return sum ~= nil and (sum > NEAR_BOUND or sum < -NEAR_BOUND)
  end

  near_range_end = function(event, state)
    local metric = event.plan.metric
    local near = is_near((state[USER.totals][metric] or {})[TOTAL.whole])
    for _, no in ipairs(event.counted) do
      near = near or is_near((state[USER.counts][no] or {})[TOTAL.whole])
    end
    for frequency = FREQUENCY.daily, FREQUENCY.monthly do
      local sums = state[streak_at[frequency] + STREAK.sums]
      near = near or is_near((sums and sums[metric] or {})[TOTAL.whole])
    end
    local scores, from = state[USER.boards], 1
    for _, board in ipairs(event.plan.boards) do
      if board.by == 'metric' then
        local at = board_place(scores, board.no, from)
        from = at
        while scores[at] == board.no do
          near = near or is_near(scores[at + SCORE.whole])
          at = at + SCORE.size
        end
      end
    end
    return near
  end
end

-- Applies one event to a decoded state in memory; writes nothing to Redis. After the refusals outOfPoints and outOfRange,
-- and if a guard stopped the event, the state is half changed and must be discarded; refusals of admit_user leave it unchanged.
-- outOfRange occurs only if `near_range_end` was true.
-- The documented order is: user, guards, out-of-points check, total, streak, achievements, points, leaderboards.
-- `event`: plan, now, whole, micros, sent (see upsert_user, which writes `changed`, `moved`, `left`), counted (numbers of
-- the achievements and triggers whose event-attribute conditions match), boosts (the user's own, by points system number),
-- occurred (nil: now; else at: when it happened, second: of the local day then, and `late` for a late event: see
-- take_replay).
-- Returns: outcome { day, second, length, extended, due_moved, settlements, completed, quests, ledgers, changes, active_before },
-- or nil and a refusal. `due_moved`: a streak of any frequency was extended; `settlements`: see settle_streaks; `quests`: see
-- quests.count, nil for none; `active_before`: see note_active_day.
local function apply_event(event, state, is_new)
  local plan, now = event.plan, event.now
  local late, replayed = event.occurred and event.occurred.late, nil
  -- The replay was made in the zone that the user is about to leave. A new user leaves no zone.
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
  -- The replay must use the value that the guards leave.
  if event.clamped and late and late.streaks and not (late.whole == event.whole and late.micros == event.micros) then
    return nil, { [RECORD.kind] = REFUSAL.outdated, [OUTDATED.whole] = event.whole, [OUTDATED.micros] = event.micros }
  end
  -- Fields set later are listed here, so that the table is allocated with room for them.
  local outcome = {
    day = day,
    second = local_second % 86400,
    completed = {},
    quests = nil,
    peak_before = nil,
    peak_after = nil,
    peaks = nil,
    settlements = nil,
    due_moved = nil,
    extended = nil,
    length = nil,
    ledgers = nil,
    changes = nil,
    active_before = nil,
  }

  local ledgers = open_ledgers(plan, state, event.boosts, now)
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
    -- If any value meets a period, an event in a met period changes nothing. Most events are of this kind.
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
        -- A streak that begins on a day repeated by a journey west also covers the days before it.
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

  if plan.quests then
    quests.count(event, state, outcome, periods)
  end
  complete_achievements(state, plan.achievements, now, outcome.completed, late and late.most)
  if plan.chains then
    quests.follow(plan, state, outcome, now, periods, late and late.most)
  end
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
  outcome.active_before = note_active_day(state, now)
  -- Events of a batch may arrive late.
  if plan.streak.before and state[USER.updatedMs] > now then
    state[USER.settledMs] = math.max(state[USER.updatedMs], state[USER.settledMs] or 0)
  elseif state[USER.settledMs] then
    state[USER.settledMs] = nil
  end
  state[USER.updatedMs] = now
  return outcome
end
