--- @include "add_to_total"
--- @include "upsert_user"
--- @include "settle_streak"
--- @include "extend_streak"
--- @include "complete_achievements"
--- @include "open_ledgers"
--- @include "out_of_points"
--- @include "award_points"
--- @include "fire_triggers"
--- @include "score_boards"

-- Applies one event to a decoded state, in memory: nothing is written to Redis. After refusal `o` the state is
-- half changed and must be dropped; `z` and `m` leave it as it was.
-- The order is the published one: user, out-of-points check, total, streak, achievements, points, boards.
-- `event`: plan, now, whole, micros, sent (see upsert_user), counted (numbers of the achievements and triggers
-- whose event-attribute conditions match), boosts (the user's own, by points system number).
-- Returns: outcome { day, second, length, extended, streak, completed, ledgers, changes }, or nil and a refusal.
local function apply_event(event, state, is_new)
  local plan, now = event.plan, event.now
  local sent = event.sent
  local renewed = sent and (sent.z ~= nil or sent.zn == state.z)
  if state.zu and state.zu <= now and not renewed then
    return nil, { k = 'z', tz = state.z }
  end
  if sent and not upsert_user(state, sent, now, plan) then
    return nil, { k = 'm' }
  end
  local local_second = math.floor(now / 1000) + (state.zo or 0)
  local day = math.floor(local_second / 86400)
  local periods = plan.periods[day - plan.firstDay + 1]
  local outcome = { day = day, second = local_second % 86400, completed = {}, peaks = {} }

  local ledgers = open_ledgers(plan, state, event.boosts)
  if is_new then
    for _, ledger in ipairs(ledgers) do
      for _, trigger in ipairs(ledger.system.creation) do
        if holds(trigger.users, state.a) then
          award_points(ledger, trigger, 1, state, day)
        end
      end
    end
  end

  outcome.peaks[0] = { add_to_total(state.m, plan.metric, event.whole, event.micros) }
  for _, no in ipairs(event.counted) do
    outcome.peaks[no] = { add_to_total(state.f, no, event.whole, event.micros) }
  end
  local blocking = plan.blocks and out_of_points(ledgers, outcome.peaks, state.a)
  if blocking then
    return nil, { k = 'o', trigger = blocking }
  end

  if plan.streak.on then
    for frequency = 1, 3 do
      local streak = state.s[frequency]
      settle_streak(streak, periods[frequency])
      local extended = extend_streak(streak, plan.streak, event, periods[frequency + 3])
      if frequency == plan.streak.frequency then
        outcome.extended = extended
      end
    end
  end
  outcome.streak = state.s[plan.streak.frequency]
  outcome.length = outcome.streak[1]

  complete_achievements(state, plan.achievements, now, outcome.completed)
  blocking = fire_triggers(ledgers, event, state, outcome)
  if blocking then
    return nil, { k = 'o', trigger = blocking }
  end
  for _, ledger in ipairs(ledgers) do
    state.p[ledger.system.no] = ledger.total > 0 and ledger.total or nil
  end
  outcome.ledgers = ledgers
  outcome.changes = score_boards(event, state, ledgers, outcome)
  state.up = now
  return outcome
end
