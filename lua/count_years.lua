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
Counts full years since some users' sign-up, and completes the anniversaries that follow: with composites to a fixed point,
points for the completions, and boards of points. Computed first, written last. Years that are counted are not counted
again, so a call repeated, or made by two at once, changes nothing.

KEYS: 1 outbox of the shard, 2 counters of the tenant, then the users, each once.
ARGV: 1 tenant no, 2 plan (JSON, see `compileAnniversaryPlan`; its day is that of the times in UTC), 3 prefix of boards, 4
      prefix of points totals, then 8 a user: id, id of the record (32 hex), the time (epoch ms), the sign-up day (epoch day),
      full years since then at that time, the user's own boosts (JSON, ''), the zone that the offset is of ('' for none),
      the offset at that time (seconds).
Returns: one number a user: 1 counted, 0 nothing to count, -1 the user is in another zone (nothing was done: ask again);
      then the position of the outbox ('' if nothing was written).
Errors: those of Redis only.
Writes: outbox, users, counters, points totals, boards.
Cost: O(users × (size of a user + boards × log N)).
]]
local outbox, counters = KEYS[1], KEYS[2]
local tenant_no, plan, board_prefix, points_prefix = ARGV[1], cjson.decode(ARGV[2]), ARGV[3], ARGV[4]
local FIRST, STRIDE, FIRST_USER = 5, 8, 3
local count = (#ARGV - FIRST + 1) / STRIDE
local replies, applied, touched = {}, {}, {}

-- Completes in memory what a user's years bring about: the record without its ID, and the changes on boards. The plan's
-- triggers do not block: nobody asked for it who could be refused.
local function celebrate(user, state, at, offset, own_boosts)
  local local_second = math.floor(at / 1000) + offset
  local outcome = { day = math.floor(local_second / 86400), second = local_second % 86400, completed = {} }
  local settlements = settle_streaks(state, plan.streak, plan.periods[outcome.day - plan.firstDay + 1])
  outcome.length = state[streak_at[plan.streak.frequency] + STREAK.length]
  complete_achievements(state, plan.achievements, at, outcome.completed)
  local ledgers = open_ledgers(plan, state, own_boosts)
  fire_triggers(ledgers, {}, state, outcome)
  close_ledgers(ledgers, state)
  local changes = score_boards({ plan = plan, whole = 0, micros = 0, call = true }, state, ledgers, outcome)
  local completed = #outcome.completed > 0
  local record = {
    [RECORD.kind] = completed and KIND.completion or KIND.user,
    [RECORD.userId] = user.id,
    [RECORD.atMs] = at,
    [RECORD.day] = outcome.day,
    [RECORD.completed] = completed and outcome.completed or nil,
    [RECORD.points] = points_record(ledgers),
    [RECORD.version] = plan.version,
  }
  settled_record(record, settlements, state)
  return record, changes
end

for n = 1, count do
  local from = FIRST + (n - 1) * STRIDE
  local user_id, record_id, at, day, years, boosts, zone, offset = unpack(ARGV, from, from + STRIDE - 1)
  local user = read_user({}, KEYS[FIRST_USER + n - 1], user_id)
  local state = user.packed and state_of(user)
  local sign_up = state and state[USER.signUp]
  replies[n] = 0
  if state and (state[USER.zone] or '') ~= zone then
    replies[n] = -1
  elseif sign_up and sign_up[SIGN_UP.day] == tonumber(day) and sign_up[SIGN_UP.years] < tonumber(years) then
    sign_up[SIGN_UP.years] = tonumber(years)
    local own_boosts = boosts ~= '' and cjson.decode(boosts)
    local record, changes = celebrate(user, state, tonumber(at), tonumber(offset), own_boosts)
    record[RECORD.id] = record_id
    applied[#applied + 1] = { record, changes }
    touched[#touched + 1] = { user.key, user_id, pack_state(state) }
    replies[n] = 1
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
