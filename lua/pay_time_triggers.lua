--- @include "lib/read_user"
--- @include "lib/open_ledgers"
--- @include "lib/pay_for_time"
--- @include "lib/close_ledgers"
--- @include "lib/score_boards"
--- @include "lib/points_record"
--- @include "lib/write_applied"

--[[
Pays `time` triggers of one tenant to some users for periods that ended: awards, points totals, boards of points, a
record each. Computed first, written last. A period that was paid already is left out, so a call repeated, or made
by two at once, changes nothing.

KEYS: 1 outbox of the shard, 2 counters of the tenant, then one a payment: the user.
ARGV: 1 tenant no, 2 plan (JSON, see `compileTimePlan`; its day is that of the periods' ends in UTC), 3 prefix of
      boards, 4 prefix of points totals, then 7 a payment, those of a user in the order of their times: user id, id of
      the record (32 hex), end of the period (epoch ms), numbers of the triggers (comma separated), the user's own
      boosts (JSON, ''), the zone that the offset is of ('' for none), the offset at that time (seconds).
Returns: one number a payment: 1 paid, 0 nothing to pay, -1 the user is in another zone (nothing was done: ask
      again); then the position of the outbox ('' if nothing was written).
Errors: those of Redis only.
Writes: outbox, users, points totals, boards.
Cost: O(payments × (size of a user + boards × log N)).
]]
local outbox, counters = KEYS[1], KEYS[2]
local tenant_no, plan, board_prefix, points_prefix = ARGV[1], cjson.decode(ARGV[2]), ARGV[3], ARGV[4]
local FIRST, STRIDE, FIRST_USER = 5, 7, 3
local count = (#ARGV - FIRST + 1) / STRIDE
local users, replies, applied = {}, {}, {}

for n = 1, count do
  local at = FIRST + (n - 1) * STRIDE
  local user_id, record_id, due, trigger_nos, boosts, zone, offset = unpack(ARGV, at, at + STRIDE - 1)
  local user = read_user(users, KEYS[FIRST_USER + n - 1], user_id)
  local state = user.packed and state_of(user)
  due = tonumber(due)
  replies[n] = 0
  if state and (state[USER.zone] or '') ~= zone then
    replies[n] = -1
  elseif state then
    local nos = {}
    for no in string.gmatch(trigger_nos, '%d+') do
      nos[tonumber(no)] = true
    end
    local local_second = math.floor(due / 1000) + tonumber(offset)
    local outcome = { day = math.floor(local_second / 86400), second = local_second % 86400 }
    local ledgers = open_ledgers(plan, state, boosts ~= '' and cjson.decode(boosts))
    if pay_for_time(ledgers, nos, due, state, outcome.day) then
      close_ledgers(ledgers, state)
      local changes = score_boards({ plan = plan, whole = 0, micros = 0, call = true }, state, ledgers, outcome)
      local record = {
        [RECORD.kind] = KIND.user,
        [RECORD.id] = record_id,
        [RECORD.userId] = user_id,
        [RECORD.atMs] = due,
        [RECORD.day] = outcome.day,
        [RECORD.points] = points_record(ledgers),
        [RECORD.version] = plan.version,
      }
      applied[#applied + 1] = { record, changes }
      user.changed = true
      replies[n] = 1
    end
  end
end

local touched = {}
for _, user in ipairs(users) do
  if user.changed then
    touched[#touched + 1] = { user.key, user.id, pack_state(user.state) }
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
