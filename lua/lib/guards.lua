--- @include "decimals"
--- @include "event_record"
--- @include "quarantine"
--- @include "user_call"

local HOUR_MS = 3600000

-- The user's sums for a guarded metric (GUARD_SUMS) in the current hour and day. An hour or day before the newest one
-- (events of a batch, a journey west) counts towards the newest, so that nobody gets a limit twice.
local function guard_sums(state, metric, hour, day)
  state[USER.guarded] = state[USER.guarded] or {}
  local sums = state[USER.guarded][metric]
  if not sums then
    sums = { hour, 0, 0, day, 0, 0 }
    state[USER.guarded][metric] = sums
  end
  if hour > sums[GUARD_SUMS.hour] then
    sums[GUARD_SUMS.hour], sums[GUARD_SUMS.hourWhole], sums[GUARD_SUMS.hourMicros] = hour, 0, 0
  end
  if day > sums[GUARD_SUMS.day] then
    sums[GUARD_SUMS.day], sums[GUARD_SUMS.dayWhole], sums[GUARD_SUMS.dayMicros] = day, 0, 0
  end
  return sums
end

-- The value that a guard of a sum allows: the rest up to the limit, at least 0. A value that adds nothing is allowed.
local function room_for(whole, micros, guard, sum, sum_micros)
  if whole < 0 or micros < 0 then
    return whole, micros
  end
  local left, left_micros = decimal_add(guard.whole, guard.micros, -sum, -sum_micros)
  if left < 0 or left_micros < 0 then
    return 0, 0
  end
  if decimal_reaches(left, left_micros, whole, micros) then
    return whole, micros
  end
  return left, left_micros
end

-- The nearest value that a guard allows: the value itself if it is allowed, nil if no value would be.
-- `sent_time`: the event has its own `occurredAt`.
local function allowed_by(guard, whole, micros, now, sums, total, sent_time)
  local kind = guard.kind
  if kind == GUARD.minValue then
    if decimal_reaches(whole, micros, guard.whole, guard.micros) then
      return whole, micros
    end
    return guard.whole, guard.micros
  elseif kind == GUARD.maxValue then
    if decimal_reaches(guard.whole, guard.micros, whole, micros) then
      return whole, micros
    end
    return guard.whole, guard.micros
  elseif kind == GUARD.minSecondsBetween then
    local last = sums[GUARD_SUMS.lastMs]
    local gap = last and now - last
    -- Only the newest time is kept. A client that chooses the time must not bypass the guard by going back before it.
    if gap and gap < 0 and not sent_time then
      gap = -gap
    end
    if gap and gap < guard.whole * 1000 + guard.micros / 1000 then
      return nil
    end
    return whole, micros
  elseif kind == GUARD.maxSumPerHour then
    return room_for(whole, micros, guard, sums[GUARD_SUMS.hourWhole], sums[GUARD_SUMS.hourMicros])
  elseif kind == GUARD.maxSumPerDay then
    return room_for(whole, micros, guard, sums[GUARD_SUMS.dayWhole], sums[GUARD_SUMS.dayMicros])
  end
  return room_for(whole, micros, guard, total and total[TOTAL.whole] or 0, total and total[TOTAL.micros] or 0)
end

-- Applies a metric's guards to an event before any part of it is applied, one after another, each to the value that earlier
-- ones left. A refusal takes precedence over quarantine, and quarantine over clamping. The value that is left is applied and
-- counts for the guards' sums. Events released from quarantine are not checked and do not count.
-- `event`: as for apply_event, with `id` and `quarantine` (see in_quarantine).
-- Writes: event.whole, event.micros, event.clamped (GUARDED), the state's sums.
-- Returns: nil if the event may be applied; else a record without the fields that `guarded_record` adds, or the refusal
-- notQuarantined.
local function guard_event(event, state, day)
  local guards, metric = event.plan.guards, event.plan.metric
  -- Nothing can have happened later than now. A future time would leave room for later events before it.
  local now = event.occurred and math.min(event.occurred.at, event.now) or event.now
  if guards.release then
    return not is_quarantined(event.quarantine, event.id) and { [RECORD.kind] = REFUSAL.notQuarantined } or nil
  end
  local sums = guard_sums(state, metric, math.floor(now / HOUR_MS), day)
  local total = state[USER.totals][metric]
  local whole, micros, kept_by, clamped_by = event.whole, event.micros, nil, nil
  for _, guard in ipairs(guards.asked) do
    local allowed, allowed_micros = allowed_by(guard, whole, micros, now, sums, total, event.occurred)
    if allowed ~= whole or allowed_micros ~= micros then
      if guard.action == GUARD_ACTION.refused then
        return { [RECORD.kind] = KIND.guarded, [RECORD.guard] = { guard.kind, GUARD_ACTION.refused } }
      elseif guard.action == GUARD_ACTION.quarantined then
        kept_by = kept_by or guard.kind
      else
        whole, micros, clamped_by = allowed, allowed_micros, guard.kind
      end
    end
  end
  if kept_by then
    local action = has_quarantine_room(event.quarantine) and GUARD_ACTION.quarantined or GUARD_ACTION.full
    return { [RECORD.kind] = KIND.guarded, [RECORD.guard] = { kept_by, action } }
  end
  if clamped_by then
    event.clamped = { clamped_by, GUARD_ACTION.clamped, event.whole, event.micros }
    event.whole, event.micros = whole, micros
  end
  sums[GUARD_SUMS.hourWhole], sums[GUARD_SUMS.hourMicros] =
    decimal_add(sums[GUARD_SUMS.hourWhole], sums[GUARD_SUMS.hourMicros], whole, micros)
  sums[GUARD_SUMS.dayWhole], sums[GUARD_SUMS.dayMicros] =
    decimal_add(sums[GUARD_SUMS.dayWhole], sums[GUARD_SUMS.dayMicros], whole, micros)
  sums[GUARD_SUMS.lastMs] = math.max(sums[GUARD_SUMS.lastMs] or now, now)
  return nil
end

-- An ID derived from an event's ID, for the changes that the same request makes to the user, whose awards need IDs of their own. It
-- differs in the last digit that is not part of the time, the version or an award's number.
local function id_beside(event_id)
  local digit = tonumber(string.sub(event_id, 28, 28), 16)
  return string.sub(event_id, 1, 27) .. string.format('%x', (digit + 8) % 16) .. string.sub(event_id, 29)
end

-- Applies a quarantined event's user fields at once, as in a call about the user, because guards concern only the value.
-- Returns: the record and its leaderboard changes; or nil and a refusal, after which the state must be discarded.
local function see_user(event, of)
  local request = { plan = event.plan, now = event.now, sent = sent_of(of.sent), boosts = event.boosts }
  local outcome, refusal = apply_request(request, of.state, of.is_new)
  if refusal then
    return nil, refusal
  end
  of.state[USER.updatedMs] = event.now
  local full = lack_of_room(of.state, pack_state(of.state), of.before)
  if full then
    return nil, { [RECORD.kind] = full }
  end
  local record = user_record(KIND.user, { id = of.user_id, state = of.state }, event.now, outcome)
  record[RECORD.id] = id_beside(of.id)
  record[RECORD.isNew] = of.is_new and 1 or nil
  record[RECORD.points] = points_record(outcome.ledgers)
  return { record, outcome.changes }
end

-- Completes guard_event's result to the record of an event that is not applied, for the outbox and the answer. A quarantined
-- event's record contains everything that its release needs. `of`: { id, user_id, sent, attributes, key } as in the call,
-- state (before the event), before (the same packed, or nil), is_new.
-- Writes: the user's quarantine in memory; the state, if a quarantined event changes user fields.
-- Returns: the record and, if the user must be written, an APPLIED of it; or a refusal.
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
