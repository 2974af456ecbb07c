--- @include "apply_user_call"
--- @include "points_record"
--- @include "quarantine"
--- @include "sent_of"
--- @include "settled_record"
--- @include "standing"
--- @include "state_room"
--- @include "packed_state"

-- An ID beside an event's, for what the same request says of the user: awards of the two must not share theirs. It differs in
-- the last digit that is not time, version or the number of an award.
local function id_beside(event_id)
  local digit = tonumber(string.sub(event_id, 28, 28), 16)
  return string.sub(event_id, 1, 27) .. string.format('%x', (digit + 8) % 16) .. string.sub(event_id, 29)
end

-- What a kept event says of its user takes effect at once, as by a call about the user: the guard is about the value.
-- Returns: the record and its changes on boards; or nil and a refusal, after which the state must be dropped.
local function see_user(event, of)
  local call = {
    plan = event.plan,
    now = event.now,
    sent = sent_of(of.sent),
    boosts = event.boosts,
  }
  local outcome, refusal = apply_user_call(call, of.state, of.is_new)
  if refusal then
    return nil, refusal
  end
  of.state[USER.updatedMs] = event.now
  local full = lack_of_room(of.state, pack_state(of.state), of.before)
  if full then
    return nil, { [RECORD.kind] = full }
  end
  local record = {
    [RECORD.kind] = KIND.user,
    [RECORD.id] = id_beside(of.id),
    [RECORD.userId] = of.user_id,
    [RECORD.atMs] = event.now,
    [RECORD.day] = outcome.day,
    [RECORD.isNew] = of.is_new and 1 or nil,
    [RECORD.points] = points_record(outcome.ledgers),
  }
  settled_record(record, outcome.settlements, of.state)
  return { record, outcome.changes }
end

-- Completes what guard_event found to the record of an event that is not applied: the outbox keeps it, and it is the answer.
-- Of one that is kept it has all that a release needs. `of`: { id, user_id, sent, attributes, key } as the call has them,
-- state (as before the event), before (the same packed, nil for none), is_new.
-- Writes: the user's quarantine in memory; the state, where a kept event brings fields of the user.
-- Returns: the record and, if the user is to be written, an APPLIED of it; or a refusal.
local function guarded_record(record, event, of)
  local plan, kept = event.plan, record[RECORD.guard][GUARDED.action] == GUARD_ACTION.quarantined
  local seen, refusal
  if kept and (of.is_new or of.sent ~= '') then
    seen, refusal = see_user(event, of)
    if refusal then
      return refusal
    end
  end
  local total, streak, day = standing(of.state, plan, event.now)
  record[RECORD.id] = of.id
  record[RECORD.userId] = of.user_id
  record[RECORD.atMs] = event.now
  record[RECORD.day] = day
  record[RECORD.metric] = plan.metric
  record[RECORD.value] = { event.whole, event.micros }
  record[RECORD.total] = total
  record[RECORD.streak] = streak
  if kept then
    add_to_quarantine(event.quarantine, of.id, record[RECORD.guard][GUARDED.guard])
    record[RECORD.attributes] = of.attributes ~= '' and of.attributes or nil
    record[RECORD.idempotencyKey] = of.key ~= '' and of.key or nil
  end
  return record, seen
end
