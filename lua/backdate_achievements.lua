--- @include "lib/achievements"
--- @include "lib/board_scores"
--- @include "lib/calls"
--- @include "lib/points"
--- @include "lib/quests"
--- @include "lib/streaks"

--[[
Completes activated or edited achievements for users who already qualify, including composites that follow. Pays points for the
completions and updates leaderboards of points. Computes first, writes last. A user keeps an existing completion unchanged, so a
repeated call changes nothing.

KEYS: those of every call (lib/calls), then the users.
ARGV: those of every call, with the plan of `compileBackdatingPlan`; body: users, a list of { userId, id (of the record, 32 hex),
      boosts (the user's own, JSON text), counts (of matching events, a list of { no (the achievement's), total (TOTAL) }; missing
      if nothing is counted), quests (periods of repeating achievements, a list of { no, periods (QUEST_PERIODs, newest first) };
      missing for none), digest (SHA-1 of the packed state to which counts and periods belong) }.
Returns: one number per user: 1 completed something, 0 nothing, -1 the state has changed since the counts were taken (nothing was
      done for this user; the caller must count again); then the position in the outbox ('' if nothing was written).
Errors: those of Redis only.
Writes: outbox, users, counters, points totals, boards.
Cost: O(users × size of a user); for users who complete something, as an event.
]]
local call = open_call(KEYS, ARGV)
local plan, now = call.plan, call.now
local replies, applied, touched = {}, {}, {}

-- Stores counts of matching events, and sums of periods. Later events continue from them.
local function take_counts(state, each)
  for _, count in ipairs(each.counts or {}) do
    state[USER.counts][count.no] = count.total
  end
  for _, quest in ipairs(each.quests or {}) do
    quests.of(state, quest.no)[QUEST.periods] = quest.periods
  end
end

-- Completes the current periods of repeating achievements.
local function complete_quests(state, outcome)
  for _, quest in ipairs(plan.quests or {}) do
    local period = quests.period(quest, outcome.row)
    local kept = period and quests.find(state, quest.no, period)
    local settled = kept and quests.settle(quest, state, kept, now, outcome)
    if settled and settled[RECORDED_QUEST.completed] == 1 then
      quests.note(outcome, settled)
    end
  end
end

-- Applies the backdating to a user in memory. Returns: the record without its ID, and the leaderboard changes; nil if there
-- is nothing to write. A blocking trigger refuses all completions, as it would in an event. The counts stay, so that the
-- first event that can pay completes the achievements.
local function backdate(user, each, own_boosts)
  local state, counts = state_of(user), each.counts or each.quests
  local outcome = settle_user(state, plan, now)
  take_counts(state, each)
  complete_quests(state, outcome)
  complete_achievements(state, plan.achievements, now, outcome.completed)
  if plan.chains then
    quests.follow(plan, state, outcome, now, outcome.row)
  end
  local ledgers = open_ledgers(plan, state, own_boosts, now)
  local changes, completed, version = {}, #outcome.completed > 0, plan.version
  if fire_triggers(ledgers, {}, state, outcome) then
    user.state = nil
    take_counts(state_of(user), each)
    completed, ledgers, version, outcome.settlements = false, {}, nil, nil
  elseif completed or counts then
    close_ledgers(ledgers, state)
    changes = score_call(plan, state, ledgers, outcome)
  end
  if not completed and not counts then
    return nil
  end
  local record = user_record(completed and KIND.completion or KIND.user, user, now, outcome)
  record[RECORD.backdated] = 1
  record[RECORD.completed] = completed and outcome.completed or nil
  record[RECORD.quests] = completed and outcome.quests or nil
  record[RECORD.points] = points_record(ledgers)
  record[RECORD.version] = version
  return record, changes
end

for n, each in ipairs(call.body.users) do
  local user = read_user({}, call.keys[n], each.userId)
  replies[n] = 0
  if user.packed and each.digest and redis.sha1hex(user.packed) ~= each.digest then
    replies[n] = -1
  elseif user.packed then
    local record, changes = backdate(user, each, each.boosts and cjson.decode(each.boosts))
    if record then
      record[RECORD.id] = each.id
      replies[n] = record[RECORD.completed] and 1 or 0
      applied[#applied + 1] = { record, changes }
      user.packed = pack_state(user.state)
      touched[#touched + 1] = user
    end
  end
end
replies[#replies + 1] = write_applied(call, applied, touched)
return replies
