--- @include "lib/board_scores"
--- @include "lib/calls"
--- @include "lib/points"
--- @include "lib/streaks"

--[[
Pays `time` triggers of one tenant to some users for periods that ended. Writes awards, points totals, leaderboards of points and a
record each. Computes first, writes last. A period is paid once, so a repeated or concurrent call changes nothing.

KEYS: those of every call (lib/calls), then one user per payment.
ARGV: those of every call, with the plan of `compileTimePlan` (its day is the UTC day of the periods' ends); body: payments, those
      of each user in chronological order, a list of { userId, id (of the record, 32 hex), dueMs (the end of the period), triggers
      (their numbers), boosts (the user's own, JSON text), zone (to which the offset belongs; '' for none), offsetSeconds (at that
      time) }.
Returns: one number per payment: 1 paid, 0 nothing to pay, -1 the user is in another zone (nothing was done; the caller must ask
      again); then the position in the outbox ('' if nothing was written).
Errors: those of Redis only.
Writes: outbox, users, points totals, boards.
Cost: O(payments × (size of a user + boards × log N)).
]]
-- Pays a user the `time` triggers (`nos`: a set) whose period ended at `due` (epoch ms), oldest first, if the user meets their
-- conditions. Skips triggers already paid up to that time.
-- Writes: ledgers; the state's timePaid { trigger no = time of the last period paid }. Returns: whether anything was paid.
local function pay_for_time(ledgers, nos, due, state, day)
  local paid = false
  for _, ledger in ipairs(ledgers) do
    for _, trigger in ipairs(ledger.system.time) do
      local last = state[USER.timePaid] and state[USER.timePaid][trigger.no] or 0
      if nos[trigger.no] and due > last and holds(trigger.users, state[USER.attributes]) then
        local awards = #ledger.awards
        award_points(ledger, trigger, 1, state, day)
        if #ledger.awards > awards then
          state[USER.timePaid] = state[USER.timePaid] or {}
          state[USER.timePaid][trigger.no] = due
          paid = true
        end
      end
    end
  end
  return paid
end

local call = open_call(KEYS, ARGV)
local plan = call.plan
local users, replies, applied = {}, {}, {}

for n, each in ipairs(call.body.payments) do
  local user = read_user(users, call.keys[n], each.userId)
  local state = user.packed and state_of(user)
  replies[n] = 0
  if state and (state[USER.zone] or '') ~= each.zone then
    replies[n] = -1
  elseif state then
    local nos = {}
    for _, no in ipairs(each.triggers) do
      nos[no] = true
    end
    local local_second = math.floor(each.dueMs / 1000) + each.offsetSeconds
    local outcome = { day = math.floor(local_second / 86400), second = local_second % 86400, now = each.dueMs }
    local ledgers = open_ledgers(plan, state, each.boosts and cjson.decode(each.boosts), call.now)
    if pay_for_time(ledgers, nos, each.dueMs, state, outcome.day) then
      close_ledgers(ledgers, state)
      local changes = score_call(plan, state, ledgers, outcome)
      local record = user_record(KIND.user, user, each.dueMs, outcome)
      record[RECORD.id] = each.id
      record[RECORD.points] = points_record(ledgers)
      record[RECORD.version] = plan.version
      applied[#applied + 1] = { record, changes }
      user.changed = true
      replies[n] = 1
    end
  end
end

local touched = {}
for _, user in ipairs(users) do
  if user.changed then
    user.packed = pack_state(user.state)
    touched[#touched + 1] = user
  end
end
replies[#replies + 1] = write_applied(call, applied, touched)
return replies
