--- @include "lib/plan_of"
--- @include "lib/read_user"
--- @include "lib/score_boards"
--- @include "lib/settle_streaks"
--- @include "lib/settled_record"
--- @include "lib/write_applied"
--- @include "lib/streak_at"

--[[
Settles the streaks of some users of one zone to the day that begins there: what an event would do, for those who send none.
Who has nothing to settle is not touched, so a call repeated, or made late, changes nothing.

KEYS: 1 outbox of the shard, 2 counters of the tenant, then the users.
ARGV: 1 the time of the midnight (epoch ms), 2 tenant no, 3 plan (JSON, see `compileSweepPlan`), 4 prefix of boards, 5 the
      zone ('' for UTC), 6 its offset from UTC then (seconds), 7 until when that holds (epoch ms; '' for UTC), 8 id that the
      ids of the records begin with (24 hex), then the users' ids.
Returns: how many users were changed, the position of the outbox ('' if none was).
Errors: those of Redis only.
Writes: outbox, users, boards.
Cost: O(users × size of a user), and for those who are changed O(boards × log N).
]]
local outbox, counters = KEYS[1], KEYS[2]
local tenant_no, board_prefix = ARGV[2], ARGV[4]
local now, plan, zone = tonumber(ARGV[1]), plan_of(ARGV[3]), ARGV[5]
local offset, until_ms, id_prefix = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]
local FIRST_USER, FIRST_KEY = 9, 3
local local_second = math.floor(now / 1000) + offset
local day = math.floor(local_second / 86400)
local row = plan.periods[day - plan.firstDay + 1]
local event = { plan = plan, whole = 0, micros = 0, call = true }
local applied, touched = {}, {}
local users, user_keys, user_ids = {}, {}, {}
for n = 0, #ARGV - FIRST_USER do
  user_keys[n + 1], user_ids[n + 1] = KEYS[FIRST_KEY + n], ARGV[FIRST_USER + n]
end
read_users(users, user_keys, user_ids)

-- Days off alone are nothing that anybody sees: they are recorded with whatever comes next.
local function is_seen(settlements)
  for _, each in ipairs(settlements) do
    if each[SETTLEMENT.kind] ~= SETTLED.off then
      return true
    end
  end
  return (settlements.earned or 0) > 0
end

for n, user in ipairs(users) do
  local state = user.packed and state_of(user)
  -- A user who is in another zone by now was settled when the zone was changed.
  local left = state and { state[USER.offsetSeconds] or 0, state[USER.offsetUntilMs] }
  local settlements
  if state and (state[USER.zone] or '') == zone then
    if until_ms then
      state[USER.offsetSeconds], state[USER.offsetUntilMs] = offset, until_ms
    end
    settlements = settle_streaks(state, plan.streak, row, left)
  end
  if settlements and is_seen(settlements) then
    local id = id_prefix .. string.format('%04x0000', n)
    local record = {
      [RECORD.kind] = KIND.streaks,
      [RECORD.id] = id,
      [RECORD.userId] = user.id,
      [RECORD.atMs] = now,
      [RECORD.day] = day,
    }
    settled_record(record, settlements, state)
    local outcome =
      { day = day, second = local_second % 86400, length = state[streak_at[plan.streak.frequency] + STREAK.length] }
    applied[#applied + 1] = { record, score_boards(event, state, {}, outcome) }
    touched[#touched + 1] = { user.key, user.id, pack_state(state) }
  end
end

local position = write_applied(applied, touched, {
  outbox = outbox,
  tenant_no = tenant_no,
  counters = counters,
  points_prefix = '',
  board_prefix = board_prefix,
})
return { #applied, position }
