--- @include "add_settlements"
--- @include "admit_user"
--- @include "settle_streaks"
--- @include "set_preferences"
--- @include "holds"
--- @include "complete_achievements"
--- @include "open_ledgers"
--- @include "welcome_user"
--- @include "fire_triggers"
--- @include "close_ledgers"
--- @include "score_boards"
--- @include "streak_at"

-- Applies a call about one user that is no event, in memory: nothing is written to Redis. After a refusal the
-- state may be half changed and must be dropped.
-- `call`: plan (of no metric), now, sent (see upsert_user and set_preferences; nil for none), boosts (the user's
-- own), achievement { no, users, locked } to complete, nil for none.
-- Returns: outcome { day, second, length, settlements, completed, ledgers, changes }, or nil and a refusal.
local function apply_user_call(call, state, is_new)
  local plan, now = call.plan, call.now
  local refusal, settlements = admit_user(state, call.sent, now, plan, call)
  if refusal then
    return nil, refusal
  end
  local local_second = math.floor(now / 1000) + (state[USER.offsetSeconds] or 0)
  local day = math.floor(local_second / 86400)
  local outcome = { day = day, second = local_second % 86400, completed = {} }
  local row, left = plan.periods[day - plan.firstDay + 1], call.left
  outcome.settlements = add_settlements(settlements, settle_streaks(state, plan.streak, row, left))
  if call.sent then
    set_preferences(state, call.sent, day)
  end
  outcome.length = state[streak_at[plan.streak.frequency] + STREAK.length]

  local ledgers = open_ledgers(plan, state, call.boosts)
  if is_new then
    welcome_user(ledgers, state, day)
  end
  local achievement = call.achievement
  if achievement and not state[USER.completions][achievement.no] then
    if achievement.locked then
      return nil, { [RECORD.kind] = REFUSAL.locked }
    end
    if not holds(achievement.users, state[USER.attributes]) then
      return nil, { [RECORD.kind] = REFUSAL.unmetConditions }
    end
    state[USER.completions][achievement.no] = now
    outcome.completed[1] = achievement.no
    complete_achievements(state, plan.achievements, now, outcome.completed)
  end
  local blocking = fire_triggers(ledgers, call, state, outcome)
  if blocking then
    return nil, { [RECORD.kind] = REFUSAL.outOfPoints, [BLOCKED.trigger] = blocking }
  end
  close_ledgers(ledgers, state)
  outcome.ledgers = ledgers
  outcome.changes = score_boards({ plan = plan, whole = 0, micros = 0, call = true }, state, ledgers, outcome)
  return outcome
end
