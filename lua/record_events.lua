--- @include "lib/apply_event"
--- @include "lib/batch_step"
--- @include "lib/old_keys"
--- @include "lib/used_keys"

--[[
Applies 1..n events of one tenant in order, in one atomic step: idempotency, user, total, streak, achievements, points, leaderboards,
outbox. Computes everything in memory first and writes last, so an error while computing leaves nothing behind.

KEYS: those of every call (lib/calls), then two per event (EVENT_KEY): its user (string), and the wide bucket of its idempotency key
      (hash, and prefix of the narrow ones: lib/used_keys; the user's key again if it has none).
      Then, for a step of a queued batch, its keys (lib/batch_step).
ARGV: those of every call up to the retry position (CALL_ARG), then by EVENTS_ARG: number of plans; answers of Postgres about keys
      that this script asked about before (JSON, ''): number of the event in the call → LOOKED_UP; key of the tenant's old
      idempotency keys (hash, and prefix of its segments: lib/old_keys); maximum idempotency keys per user and UTC day (0: no limit);
      the plans (JSON, see src/catalog/plan.ts). Then the events, by EVENT.
      Then, for a step of a queued batch, its arguments (lib/batch_step).
Returns: one packed map per event (src/packed/record.ts: a record, or a REFUSAL; the kind `guarded` if a guard kept the event from
      being applied), then the position in the outbox after the call.
      A step of a batch returns 'passed' (the progress has moved), or 'held' and one packed map per event (some of them
      `unknownUse`); in both cases nothing was written. Else 'done', the position in the outbox, and the number of refused events.
Errors: those of Redis only.
Writes: outbox, users, idempotency buckets, counters, boards, points totals, quarantine; progress, queue, results of batches.
Cost: O(n × (size of a user + size of the plan + boards × log N)).
]]
local call = open_tenant_call(KEYS, ARGV)
local now, counters, board_prefix = call.now, call.counters, call.board_prefix
local looked_up, old_keys = ARGV[EVENTS_ARG.lookedUp], ARGV[EVENTS_ARG.oldKeys]
looked_up = looked_up ~= '' and cjson.decode(looked_up) or {}
local old_segments, has_many_keys
local keys_a_day = tonumber(ARGV[EVENTS_ARG.keysPerDay])
local today = math.floor(now / 86400000) % USED_KEYS.days * USED_KEYS.day
local FIRST_PLAN, STRIDE, FIRST_KEY = EVENTS_ARG.firstPlan, EVENT.size, CALL_KEY.own
local FIRST = FIRST_PLAN + tonumber(ARGV[EVENTS_ARG.plans])
local count = math.floor((#ARGV - FIRST + 1) / STRIDE)
local STEP_KEY = FIRST_KEY + count * EVENT_KEY.size
local step = #KEYS >= STEP_KEY and open_batch_step(call.tenant_no, KEYS, STEP_KEY, ARGV, FIRST + count * STRIDE)
if step and step.passed then
  return { STEP.passed }
end

local users, used, replies, applied, guarded = {}, {}, {}, {}, {}
local held_back, refused, plans_by_no = {}, 0, {}
local find_retried = call.retry_position ~= '' and open_retry(call.outbox, call.retry_position)
if find_retried and find_retried.left then
  for n = 1, count do
    replies[n] = cmsgpack.pack({ [RECORD.kind] = REFUSAL.maybeStored, [MAYBE_STORED.upTo] = find_retried.left })
  end
  replies[count + 1] = find_retried.left
  return replies
end

-- 1. Compute.
if count == 1 then
  read_user(users, KEYS[FIRST_KEY + EVENT_KEY.user], ARGV[FIRST + EVENT.userId])
else
  local user_keys, user_ids = {}, {}
  for n = 1, count do
    user_keys[n] = KEYS[FIRST_KEY + (n - 1) * EVENT_KEY.size + EVENT_KEY.user]
    user_ids[n] = ARGV[FIRST + (n - 1) * STRIDE + EVENT.userId]
  end
  read_users(users, user_keys, user_ids)
end
for n = 1, count do
  local at = FIRST + (n - 1) * STRIDE
  local plan_no = ARGV[at + EVENT.plan]
  local plan = plans_by_no[plan_no]
  if not plan then
    plan = plan_of(ARGV[FIRST_PLAN - 1 + plan_no])
    plans_by_no[plan_no] = plan
  end
  local user_id, event_id = ARGV[at + EVENT.userId], ARGV[at + EVENT.id]
  local field, idempotency_key = ARGV[at + EVENT.keyField], ARGV[at + EVENT.idempotencyKey]
  local key_at = FIRST_KEY + (n - 1) * EVENT_KEY.size
  local bucket, user = KEYS[key_at + EVENT_KEY.bucket], users[KEYS[key_at + EVENT_KEY.user]]
  local earlier = find_retried and find_retried.record(event_id)
  if field ~= '' then
    field = field_of_generation(field, state_of(user, now, plan.streak.freezes, counters))
    if not old_segments then
      old_segments, has_many_keys = shape_of_keys(old_keys)
    end
  end
  local use = field ~= '' and bucket .. field
  local use_before = use and (used[use] or hot_use(bucket, field, has_many_keys))
  local token
  if field ~= '' and not use_before and not earlier and not held_back[user] then
    use_before, token = old_use(old_keys, old_segments, bucket, field, user.state[USER.generation], looked_up, n)
  end

  if earlier then
    replies[n] = earlier
  elseif held_back[user] then
    -- An earlier event of this user waits for its zone or key. Later ones wait too, to keep their order.
    replies[n] = held_back[user]
  elseif token then
    replies[n] = cmsgpack.pack({
      [RECORD.kind] = REFUSAL.unknownUse,
      [UNKNOWN_USE.token] = token,
      [UNKNOWN_USE.generation] = user.state[USER.generation],
    })
    held_back[user] = cmsgpack.pack({ [RECORD.kind] = REFUSAL.unknownUse })
  elseif use_before then
    local state = state_of(user, now, plan.streak.freezes, counters)
    local total, streak, day = standing(state, plan, now)
    replies[n] = cmsgpack.pack({
      [RECORD.kind] = REFUSAL.replay,
      [REPLAY.use] = use_before,
      [REPLAY.total] = total,
      [REPLAY.streak] = streak,
      [REPLAY.day] = day,
      [REPLAY.quarantined] = plan.guards and in_quarantine(board_prefix, user_id).events or nil,
    })
  else
    local is_new = not user.packed and not user.changed
    local state = state_of(user, now, plan.streak.freezes, counters)
    local event = {
      plan = plan,
      now = now,
      whole = tonumber(ARGV[at + EVENT.whole]),
      micros = tonumber(ARGV[at + EVENT.micros]),
      sent = sent_of(ARGV[at + EVENT.sent]),
      counted = number_list(ARGV[at + EVENT.counted]),
      boosts = ARGV[at + EVENT.boosts] ~= '' and cjson.decode(ARGV[at + EVENT.boosts]),
    }
    if plan.guards then
      event.id, event.quarantine = event_id, in_quarantine(board_prefix, user_id)
    end
    event.occurred = event.sent and event.sent[SENT.occurred]
    local late = event.occurred and event.occurred.late
    -- The state to which a refusal returns. Earlier events of the call may have changed the user.
    local crowded = near_full(user, #ARGV[at + EVENT.sent], plan)
    local refusable = user.changed and (late or plan.blocks or plan.guards or crowded or near_range_end(event, state))
    local snapshot = refusable and pack_state(state) or user.packed
    local outcome, refusal
    if late and late.digest and (user.changed or late.digest ~= (user.packed and redis.sha1hex(user.packed) or '')) then
      refusal = { [RECORD.kind] = REFUSAL.outdated }
    elseif use and keys_a_day > 0 and one_more_key(state, today) > today + keys_a_day then
      refusal = { [RECORD.kind] = REFUSAL.tooManyKeys, [TOO_MANY_KEYS.waitMs] = 86400000 - now % 86400000 }
    else
      outcome, refusal = apply_event(event, state, is_new)
    end
    local full = outcome and crowded and lack_of_room(state, pack_state(state), snapshot)
    if full then
      refusal = { [RECORD.kind] = full }
    end
    if refusal then
      local kind = refusal[RECORD.kind]
      if is_new or late or plan.guards or kind == REFUSAL.outOfPoints or kind == REFUSAL.outOfRange or full then
        user.state, user.packed = nil, snapshot
      end
      local kept, seen = false, nil
      if kind == KIND.guarded then
        refusal, seen = guarded_record(refusal, event, {
          id = event_id,
          user_id = user_id,
          sent = ARGV[at + EVENT.sent],
          attributes = ARGV[at + EVENT.attributes],
          key = idempotency_key,
          state = state_of(user, now, plan.streak.freezes, counters),
          before = snapshot,
          is_new = is_new,
        })
        kept = refusal[RECORD.kind] == KIND.guarded
          and refusal[RECORD.guard][GUARDED.action] == GUARD_ACTION.quarantined
        if kept and use then
          used[use] = ARGV[at + EVENT.use]
          state = state_of(user, now, plan.streak.freezes, counters)
          state[USER.usedKeys] = one_more_key(state, today)
          user.changed = true
        end
        if seen then
          user.changed = true
          applied[#applied + 1] = { n, seen[APPLIED.record], seen[APPLIED.changes] }
        elseif not kept then
          user.state = nil
        end
      end
      replies[n] = cmsgpack.pack(refusal)
      if refusal[RECORD.kind] == KIND.guarded then
        guarded[#guarded + 1] = { n, replies[n], kept and use, bucket, field }
      end
      refused = kept and refused or refused + 1
      if kind == REFUSAL.unknownOffset or (kind == REFUSAL.outdated and step) then
        held_back[user] = replies[n]
      end
    else
      if use then
        used[use] = ARGV[at + EVENT.use]
        state[USER.usedKeys] = one_more_key(state, today)
      end
      user.changed = true
      if plan.guards and plan.guards.release then
        take_from_quarantine(event.quarantine, event_id)
      end
      local attributes, key = ARGV[at + EVENT.attributes], use and idempotency_key or ''
      local record = event_record(event, outcome, state, is_new, event_id, user_id, attributes, key)
      applied[#applied + 1] = { n, record, outcome.changes, use, bucket, field }
    end
  end
end

if step and next(held_back) then
  -- A step is applied as a whole or not at all, so that the progress is exact.
  for n = 1, count do
    replies[n] = replies[n] or ''
  end
  return { STEP.held, unpack(replies) }
end

-- 2. Write. Everything that could fail has been computed.
local touched = {}
for i = 1, #users do
  local user = users[i]
  if user.changed then
    user.packed = user.state and pack_state(user.state) or user.packed
    touched[#touched + 1] = user
  end
end
local records = {}
for i = 1, #applied do
  local n, record, changes, use, bucket, field = unpack(applied[i])
  if use then
    note_use(old_keys, bucket, field, used[use], has_many_keys)
  end
  replies[n] = write_record(call, record, changes, step and step.unheard)
  records[#records + 1] = replies[n]
end
for _, event in ipairs(guarded) do
  local n, record, use, bucket, field = unpack(event)
  if use then
    note_use(old_keys, bucket, field, used[use], has_many_keys)
  end
  replies[n] = record
  records[#records + 1] = record
end
write_quarantine()
if step then
  -- Postgres stores the progress with the events, in case Redis loses its latest writes.
  records[#records + 1] = cmsgpack.pack({ [RECORD.kind] = KIND.progress, [RECORD.progress] = step.after })
end
if #records > 0 then
  replies[count + 1] = write_users(call, records, touched)
else
  replies[count + 1] = ''
end
if step then
  close_batch_step(step, replies)
  return { STEP.done, replies[count + 1], refused }
end
return replies
