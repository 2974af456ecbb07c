--- @include "achievements"
--- @include "admit_user"
--- @include "board_scores"
--- @include "calls"
--- @include "points"
--- @include "quests"

-- Merges sent preferences into those of a user whose streaks are settled to the local day. Fields that are not sent stay
-- unchanged.
-- `sent`: notifications, one digit per kind ('-': not sent; src/engine/users/preferences.ts); streakRule { on, all, metrics
-- } with -1 and false for fields that are not sent; daysOff, valid from the next day.
local function set_preferences(state, sent, day)
  if sent[SENT.notifications] then
    local merged = {}
    for i = 1, #sent[SENT.notifications] do
      local digit = string.sub(sent[SENT.notifications], i, i)
      merged[i] = digit ~= '-' and digit
        or state[USER.notifications] and string.sub(state[USER.notifications], i, i)
        or '-'
    end
    state[USER.notifications] = table.concat(merged)
  end
  if sent[SENT.streakRule] then
    local own = state[USER.streakRule] or { -1, -1, {} }
    for i = STREAK_RULE.enabled, STREAK_RULE.all do
      own[i] = sent[SENT.streakRule][i] ~= -1 and sent[SENT.streakRule][i] or own[i]
    end
    own[STREAK_RULE.metrics] = sent[SENT.streakRule][STREAK_RULE.metrics] or own[STREAK_RULE.metrics]
    state[USER.streakRule] = own
  end
  if sent[SENT.daysOff] then
    local own = state[USER.daysOff]
    local before = own and own[day >= own[DAYS_OFF.fromDay] and DAYS_OFF.set or DAYS_OFF.before] or -1
    state[USER.daysOff] = { sent[SENT.daysOff], day + 1, before }
  end
end

-- Applies a request's user fields, and completes an achievement, in memory; writes nothing to Redis. After a refusal the
-- state may be half changed and must be discarded.
-- `request`: plan (of no metric), now, sent (see upsert_user and set_preferences; or nil), boosts (the user's own),
-- achievement { no, users, locked, requires } to complete, or nil.
-- Returns: the outcome of settle_user with ledgers and changes (see score_boards), or nil and a refusal.
local function apply_request(request, state, is_new)
  local plan, now = request.plan, request.now
  local refusal, settlements = admit_user(state, request.sent, now, plan, request)
  if refusal then
    return nil, refusal
  end
  local outcome = settle_user(state, plan, now, request.left)
  outcome.settlements = add_settlements(settlements, outcome.settlements)
  if request.sent then
    set_preferences(state, request.sent, outcome.day)
  end
  local ledgers = open_ledgers(plan, state, request.boosts, now)
  if is_new then
    welcome_user(ledgers, state, outcome.day)
  end
  local achievement = request.achievement
  if achievement and not state[USER.completions][achievement.no] then
    if achievement.locked then
      return nil, { [RECORD.kind] = REFUSAL.locked }
    end
    if not holds(achievement.users, state[USER.attributes]) then
      return nil, { [RECORD.kind] = REFUSAL.unmetConditions }
    end
    local missing = {}
    for _, no in ipairs(achievement.requires or {}) do
      missing[#missing + 1] = not state[USER.completions][no] and no or nil
    end
    if #missing > 0 then
      return nil, { [RECORD.kind] = REFUSAL.required, [REQUIRED.missing] = missing }
    end
    state[USER.completions][achievement.no] = now
    outcome.completed[1] = achievement.no
    complete_achievements(state, plan.achievements, now, outcome.completed)
    if plan.chains then
      quests.follow(plan, state, outcome, now, outcome.row)
    end
  end
  local blocking = fire_triggers(ledgers, request, state, outcome)
  if blocking then
    return nil, { [RECORD.kind] = REFUSAL.outOfPoints, [BLOCKED.trigger] = blocking }
  end
  close_ledgers(ledgers, state)
  outcome.ledgers = ledgers
  outcome.changes = score_call(plan, state, ledgers, outcome)
  return outcome
end

-- The reply of a call about one user that wrote nothing. `reply`: a refusal, or a record that says that nothing had to be done.
local function unwritten(reply, packed_state)
  return { cmsgpack.pack(reply), packed_state or '', '' }
end

-- Opens a call about one user: see open_call. The first of its own keys is the user's; it is not in `keys`. `user`: see
-- read_user. The body has userId, id (of the call, 32 hex digits) and, if the script uses them, sent (SENT, JSON text) and
-- boosts (the user's own, JSON text).
-- Returns: the call; and the script's reply if an earlier try was applied, or if the user does not exist and `may_be_new` is
-- not set; nil if the call must go on.
local function open_user_call(keys, args, may_be_new)
  local call = open_call(keys, args)
  local body = call.body
  local user = read_user({}, table.remove(call.keys, 1), body.userId)
  call.user = user
  call.sent = sent_of(body.sent or '')
  call.boosts = body.boosts and cjson.decode(body.boosts)
  local earlier, position = earlier_try(call, body.id)
  if earlier then
    return call, { earlier, user.packed or '', position }
  end
  if not user.packed and not may_be_new then
    return call, unwritten({ [RECORD.kind] = REFUSAL.unknownUser })
  end
  return call
end

-- Ends a call about one user. Writes the state, unless it is too large, with the record and its leaderboard changes. `write`: makes
-- the script's own writes; or nil. Returns: the script's reply: the packed record or refusal; the user's packed state; the position in
-- the outbox ('' if nothing was written).
local function close_user_call(call, record, changes, write)
  local user = call.user
  local packed = pack_state(user.state)
  local full = lack_of_room(user.state, packed, user.packed)
  if full then
    return unwritten({ [RECORD.kind] = full })
  end
  if write then
    write()
  end
  user.packed = packed
  local reply = write_record(call, record, changes)
  return { reply, packed, write_users(call, { reply }, { user }) }
end

-- Whether a request sends anything besides a renewed offset of the user's current zone.
local function is_asked(sent)
  for name in pairs(sent or {}) do
    if name ~= SENT.renewedZone and name ~= SENT.offsetSeconds and name ~= SENT.offsetUntilMs then
      return true
    end
  end
  return false
end

-- The common part of `identify_user` and `complete_achievement`: from the call to the reply. `achievement`: the one to
-- complete, or nil.
local function run_request(call, achievement)
  local user, plan, now, sent = call.user, call.plan, call.now, call.sent
  local is_new, asked = not user.packed, is_asked(sent)
  local state = state_of(user, now, plan.streak.freezes, call.counters)
  local request = { plan = plan, now = now, sent = sent, boosts = call.boosts, achievement = achievement }
  local outcome, refusal = apply_request(request, state, is_new)
  if refusal then
    return unwritten(refusal)
  end
  local completed = #outcome.completed > 0
  local record = user_record(completed and KIND.completion or KIND.user, user, now, outcome)
  record[RECORD.id] = call.body.id
  record[RECORD.isNew] = is_new and 1 or nil
  record[RECORD.completed] = completed and outcome.completed or nil
  record[RECORD.points] = points_record(outcome.ledgers)
  record[RECORD.version] = (completed or record[RECORD.points]) and plan.version or nil
  if not (is_new or completed or asked) then
    return unwritten(record, user.packed)
  end
  state[USER.updatedMs] = now
  return close_user_call(call, record, outcome.changes)
end
