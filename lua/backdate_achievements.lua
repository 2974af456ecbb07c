--- @include "lib/read_user"
--- @include "lib/settle_streaks"
--- @include "lib/settled_record"
--- @include "lib/complete_achievements"
--- @include "lib/open_ledgers"
--- @include "lib/fire_triggers"
--- @include "lib/close_ledgers"
--- @include "lib/score_boards"
--- @include "lib/points_record"
--- @include "lib/write_applied"
--- @include "lib/streak_at"

--[[
Completes achievements that were activated or edited for those of some users who qualify already: with composites
to a fixed point, points for the completions, and boards of points. Computed first, written last. A user who has an
achievement keeps it as it is, so a call repeated changes nothing.

KEYS: 1 outbox of the shard, 2 counters of the tenant, then the users.
ARGV: 1 now (epoch ms), 2 tenant no, 3 plan (JSON, see `compileBackdatingPlan`), 4 prefix of boards, 5 prefix of points
      sets, then 5 a user: id, id of the record (32 hex), the user's own boosts (JSON, ''), the packed state that
      the counts were taken from ('' without counts), counts of matching events (JSON { "achievement no":
      [whole, micros] }, '').
Returns: one number a user: 1 completed something, 0 nothing, -1 the state has changed since the counts were taken
      (nothing was done for this user: count again); then the position of the outbox ('' if nothing was written).
Errors: those of Redis only.
Writes: outbox, users, counters, points totals, boards.
Cost: O(users × size of a user), and for those who complete something as record_events.
]]
local outbox, counters = KEYS[1], KEYS[2]
local now, tenant_no, plan = tonumber(ARGV[1]), ARGV[2], cjson.decode(ARGV[3])
local board_prefix, points_prefix = ARGV[4], ARGV[5]
local FIRST, STRIDE, FIRST_USER = 6, 5, 3
local count = (#ARGV - FIRST + 1) / STRIDE
local replies, applied, touched = {}, {}, {}

-- Takes over the counts of matching events; later events go on from them.
local function take_counts(state, counts)
  for no, total in pairs(counts) do
    state[USER.counts][tonumber(no)] = total
  end
end

-- Applies to a user, in memory, what is backdated: the record without its ID, and the changes on boards; nil where there
-- is nothing to write. A trigger that blocks refuses here what it would in an event: all that the user would complete;
-- the counts stay, so that it is completed by the first event that can pay for it.
local function backdate(user, counts, own_boosts)
  local state = state_of(user)
  local local_second = math.floor(now / 1000) + (state[USER.offsetSeconds] or 0)
  local outcome = { day = math.floor(local_second / 86400), second = local_second % 86400, completed = {} }
  local record = {
    [RECORD.kind] = KIND.user,
    [RECORD.userId] = user.id,
    [RECORD.atMs] = now,
    [RECORD.day] = outcome.day,
    [RECORD.backdated] = 1,
  }
  local settlements = settle_streaks(state, plan.streak, plan.periods[outcome.day - plan.firstDay + 1])
  outcome.length = state[streak_at[plan.streak.frequency] + STREAK.length]
  take_counts(state, counts or {})
  complete_achievements(state, plan.achievements, now, outcome.completed)
  local ledgers = open_ledgers(plan, state, own_boosts)
  if fire_triggers(ledgers, {}, state, outcome) then
    user.state = nil
    if not counts then
      return nil
    end
    take_counts(state_of(user), counts)
    return record, {}
  end
  if #outcome.completed == 0 and not counts then
    return nil
  end
  close_ledgers(ledgers, state)
  local changes = score_boards({ plan = plan, whole = 0, micros = 0, call = true }, state, ledgers, outcome)
  if #outcome.completed > 0 then
    record[RECORD.kind], record[RECORD.completed] = KIND.completion, outcome.completed
  end
  record[RECORD.points] = points_record(ledgers)
  record[RECORD.version] = plan.version
  settled_record(record, settlements, state)
  return record, changes
end

for n = 1, count do
  local at = FIRST + (n - 1) * STRIDE
  local user_id, record_id, boosts, counted_from, counts = unpack(ARGV, at, at + STRIDE - 1)
  local user = read_user({}, KEYS[FIRST_USER + n - 1], user_id)
  replies[n] = 0
  if user.packed and counts ~= '' and user.packed ~= counted_from then
    replies[n] = -1
  elseif user.packed then
    local record, changes = backdate(user, counts ~= '' and cjson.decode(counts), boosts ~= '' and cjson.decode(boosts))
    if record then
      record[RECORD.id] = record_id
      replies[n] = record[RECORD.completed] and 1 or 0
      applied[#applied + 1] = { record, changes }
      touched[#touched + 1] = { user.key, user_id, pack_state(user.state) }
    end
  end
end

replies[count + 1] = write_applied(applied, touched, {
  outbox = outbox,
  tenant_no = tenant_no,
  counters = counters,
  points_prefix = points_prefix,
  board_prefix = board_prefix,
})
return replies
