--- @include "lib/old_keys"
--- @include "lib/used_keys"
--- @include "lib/user_call"

--[[
Spends or holds points of a user, captures or releases a hold, refunds a spending, or lets points expire, in one atomic step. The
total does not change. An expired hold does not count; the next change of the user's balances removes it from the state.

KEYS: those of a call about one user (lib/user_call), then the tenant's old idempotency keys (hash, and prefix of its segments:
      lib/old_keys) and the wide bucket of the key that the change uses (hash, and prefix of the narrow ones: lib/used_keys).
ARGV: those of such a call; body: userId, id, change { kind (BALANCE), system, amount, expiresInMs, of, reason, reference, key, generation (of the user
      to whom a refund belongs), digest
      (of points that expire: SHA-1 of the packed state for which the amount was computed) },
      and for spendings, holds and refunds, which use a key: field of the key in its bucket, use (the packed use), keysPerDay (the
      most keys that the user may use per UTC day; 0: no limit), lookedUp (Postgres's answer: LOOKED_UP in a list; nil before the script asked).
Returns: a record `user` with BALANCE_CHANGE, or a refusal unknownUser, replay, unknownUse, tooManyKeys, insufficient, manyHolds,
      notHeld, outdated, tooLarge, maybeStored (packed, src/packed/record.ts); the user's packed state; the position in the outbox ('' if
      nothing was written).
Errors: those of Redis only.
Writes: outbox, user, bucket of the key.
Cost: O(size of the user + its open holds).
]]
local call, reply = open_user_call(KEYS, ARGV)
if reply then
  return reply
end
local body, user, now = call.body, call.user, call.now
local change, state = body.change, state_of(user)
local system = change.system
local old_keys, bucket = unpack(call.keys)

-- 1. The key.
local field, is_large
if body.field then
  local segments
  segments, is_large = shape_of_keys(old_keys)
  field = field_of_generation(body.field, state)
  local use, token = hot_use(bucket, field, is_large), nil
  if not use then
    use, token = old_use(old_keys, segments, bucket, field, state[USER.generation], body.lookedUp or {}, 1)
  end
  if token then
    local generation = state[USER.generation]
    return unwritten({
      [RECORD.kind] = REFUSAL.unknownUse,
      [UNKNOWN_USE.token] = token,
      [UNKNOWN_USE.generation] = generation,
    })
  end
  if use then
    return unwritten({ [RECORD.kind] = REFUSAL.replay, [REPLAY.use] = use })
  end
  local today = math.floor(now / 86400000) % USED_KEYS.days * USED_KEYS.day
  local used_keys = one_more_key(state, today)
  if body.keysPerDay > 0 and used_keys > today + body.keysPerDay then
    return unwritten({ [RECORD.kind] = REFUSAL.tooManyKeys, [TOO_MANY_KEYS.waitMs] = 86400000 - now % 86400000 })
  end
  state[USER.usedKeys] = used_keys
end

-- 2. The change.
-- Removes from the state the holds that have expired, and the one with an ID, if one is given. Returns the number of the system's
-- other holds, and the amount of the one with the ID; nil if the system has no such hold.
local function close_holds(id)
  local holds, kept, count, amount = state[USER.holds] or {}, {}, 0, nil
  for at = 1, #holds, HOLD.size do
    local is_of_system = holds[at + HOLD.system] == system
    if holds[at + HOLD.expiresMs] > now then
      if is_of_system and holds[at + HOLD.id] == id then
        amount = holds[at + HOLD.amount]
      else
        for offset = 0, HOLD.size - 1 do
          kept[#kept + 1] = holds[at + offset]
        end
        count = count + (is_of_system and 1 or 0)
      end
    end
  end
  state[USER.holds] = #kept > 0 and kept or nil
  return count, amount
end

local kind, amount, expires = change.kind, change.amount, nil
local open_holds, held = close_holds(change.of)
local spent = 0
if kind == BALANCE.spend or kind == BALANCE.hold then
  local balance = balance_of(state, system, now)
  if amount > balance then
    return unwritten({ [RECORD.kind] = REFUSAL.insufficient, [INSUFFICIENT.balance] = balance })
  end
  if kind == BALANCE.spend then
    spent = amount
  else
    if open_holds >= HOLD.most then
      return unwritten({ [RECORD.kind] = REFUSAL.manyHolds })
    end
    expires = now + change.expiresInMs
    local holds = state[USER.holds] or {}
    state[USER.holds] = holds
    for _, value in ipairs({ system, body.id, amount, expires }) do
      holds[#holds + 1] = value
    end
  end
elseif kind == BALANCE.refund then
  if state[USER.generation] ~= change.generation then
    return unwritten({ [RECORD.kind] = REFUSAL.notHeld })
  end
  spent = -amount
elseif kind == BALANCE.expire then
  if redis.sha1hex(user.packed) ~= change.digest then
    return unwritten({ [RECORD.kind] = REFUSAL.outdated })
  end
  spent = amount
else
  if not held then
    return unwritten({ [RECORD.kind] = REFUSAL.notHeld })
  end
  amount, spent = held, kind == BALANCE.capture and held or 0
end
state[USER.spent] = state[USER.spent] or {}
spent = (state[USER.spent][system] or 0) + spent
if spent < 0 then
  -- The spending was made by a former user with this ID.
  return unwritten({ [RECORD.kind] = REFUSAL.notHeld })
end
state[USER.spent][system] = spent

-- 3. Write.
local day = math.floor((now + (state[USER.offsetSeconds] or 0) * 1000) / 86400000)
local record = user_record(KIND.user, user, now, { day = day })
record[RECORD.id] = body.id
-- In the order of BALANCE_CHANGE.
record[RECORD.balance] = {
  system,
  kind,
  amount,
  balance_of(state, system, now),
  change.of or false,
  expires or false,
  change.reason or false,
  change.reference or false,
  change.key or false,
}
return close_user_call(call, record, {}, field and function()
  note_use(old_keys, bucket, field, body.use, is_large)
end)
