--- @include "apply_user_call"
--- @include "read_user"
--- @include "sent_of"
--- @include "state_room"
--- @include "points_record"
--- @include "settled_record"
--- @include "write_record"
--- @include "write_users"
--- @include "earlier_try"

-- Whether anything is sent but the renewed offset of the zone that the user is in.
local function is_asked(sent)
  for name in pairs(sent or {}) do
    if name ~= SENT.renewedZone and name ~= SENT.offsetSeconds and name ~= SENT.offsetUntilMs then
      return true
    end
  end
  return false
end

-- A call about one user from its arguments to its reply; `identify_user` and `complete_achievement` document
-- KEYS and ARGV, of which the first ten are the same. `achievement`: the one to complete, or nil.
-- `must_exist`: refuse a user never seen.
-- Returns: the record, or a refusal, packed; the user's packed state ('' if there is none); the position in the
-- outbox ('' if nothing was written).
local function run_user_call(keys, argv, achievement, must_exist)
  local outbox, counters, user_key = keys[1], keys[2], keys[3]
  local now, tenant_no, plan_text = tonumber(argv[1]), argv[2], argv[3]
  local board_prefix, points_prefix, retry_position = argv[4], argv[5], argv[6]
  local user_id, happened_id, sent, boosts = argv[7], argv[8], argv[9], argv[10]
  local user = read_user({}, user_key, user_id)

  local earlier, position = earlier_try(outbox, retry_position, happened_id)
  if earlier then
    return { earlier, user.packed or '', position }
  end

  local is_new = not user.packed
  if is_new and must_exist then
    return { cmsgpack.pack({ [RECORD.kind] = REFUSAL.unknownUser }), '', '' }
  end
  local plan = cjson.decode(plan_text)
  local state = state_of(user, now, plan.streak.freezes, counters)
  local call = {
    plan = plan,
    now = now,
    sent = sent_of(sent),
    boosts = boosts ~= '' and cjson.decode(boosts) or nil,
    achievement = achievement,
  }
  local asked = is_asked(call.sent)
  local outcome, refusal = apply_user_call(call, state, is_new)
  if refusal then
    return { cmsgpack.pack(refusal), '', '' }
  end
  local completed = #outcome.completed > 0
  local record = {
    [RECORD.kind] = completed and KIND.completion or KIND.user,
    [RECORD.id] = happened_id,
    [RECORD.userId] = user_id,
    [RECORD.atMs] = now,
    [RECORD.day] = outcome.day,
    [RECORD.isNew] = is_new and 1 or nil,
    [RECORD.completed] = completed and outcome.completed or nil,
    [RECORD.points] = points_record(outcome.ledgers),
  }
  record[RECORD.version] = (completed or record[RECORD.points]) and plan.version or nil
  settled_record(record, outcome.settlements, state)
  if not (is_new or completed or asked) then
    return { cmsgpack.pack(record), user.packed, '' }
  end
  state[USER.updatedMs] = now
  local packed = pack_state(state)
  local full = lack_of_room(state, packed, user.packed)
  if full then
    return { cmsgpack.pack({ [RECORD.kind] = full }), '', '' }
  end
  local reply = write_record(record, outcome.changes, counters, points_prefix, board_prefix)
  return { reply, packed, write_users(outbox, tenant_no, { reply }, { { user_key, user_id, packed } }) }
end
