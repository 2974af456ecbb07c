-- Whether all conditions { attribute no, value } hold for a user's attributes; no conditions always hold.
local function holds(conditions, attributes)
  if conditions then
    for i = 1, #conditions do
      local condition = conditions[i]
      if not attributes or attributes[condition[CONDITION.attribute]] ~= condition[CONDITION.value] then
        return false
      end
    end
  end
  return true
end

-- Frequency → where its streak begins in a state: offsets of STREAK go from there.
local streak_at = {
  [FREQUENCY.daily] = USER.streaks,
  [FREQUENCY.weekly] = USER.streaks + STREAK.size,
  [FREQUENCY.monthly] = USER.streaks + 2 * STREAK.size,
}

-- Puts a streak, a list by STREAK, in the place of the one that a state has.
local function put_streak(state, frequency, streak)
  local at = streak_at[frequency]
  for offset = STREAK.length, STREAK.currentPeriod do
    state[at + offset] = streak[1 + offset]
  end
  local sums = streak[1 + STREAK.sums]
  state[at + STREAK.sums] = next(sums) and sums or nil
end

-- Takes a user's packed state apart: a list by USER, for `pack_state`.
local function unpack_state(packed)
  return { cmsgpack.unpack(packed) }
end

-- Packs a state. What a user lacks behind the last that there is takes no place.
local function pack_state(state)
  for last = STATE.size, 1, -1 do
    if state[last] ~= nil then
      return cmsgpack.pack(unpack(state, 1, last))
    end
  end
end

-- `counters`: the key of the tenant's counters.
-- Users of a tenant are of a younger generation with every user who is deleted (counter `d`), so that the used
-- idempotency keys of a deleted user mean nothing to one who comes after under the same ID. Nil before the first
-- deletion, which costs the state no byte.
local function generation_of_new_users(counters)
  return tonumber(redis.call('HGET', counters, COUNTER.generation))
end

-- The field under which a user keeps that an idempotency key is used; src/redis/idempotency.ts knows the same rule.
local function field_of_generation(field, state)
  return state[USER.generation] and field .. '.' .. string.format('%.0f', state[USER.generation]) or field
end

local NO_STREAK = { 0, -1, -1, -1, -1, {} }

-- The state of a user who is seen for the first time; see src/packed/user-fields.ts. `counters`: key of the
-- tenant's counters.
local function new_user(now, freezes, counters)
  local state = {
    [USER.createdMs] = now,
    [USER.updatedMs] = now,
    [USER.activeDay] = -1,
    [USER.totals] = {},
    [USER.counts] = {},
    [USER.freezes] = freezes > 0 and freezes or nil,
    [USER.points] = {},
    [USER.completions] = {},
    [USER.boards] = {},
    [USER.generation] = generation_of_new_users(counters),
  }
  for frequency = FREQUENCY.daily, FREQUENCY.monthly do
    put_streak(state, frequency, NO_STREAK)
  end
  return state
end

-- The users of a call, each read once: { id, key, packed, state, changed, sent }. `state` is decoded when first used;
-- `sent` counts the bytes of user fields (see near_full).
local function read_user(users, key, id)
  local user = users[key]
  if not user then
    user = { id = id, key = key, packed = redis.call('GET', key), sent = 0 }
    users[key] = user
    users[#users + 1] = user
  end
  return user
end

-- Reads users who are not read yet with one command. `ids` and `keys` go together.
local function read_users(users, keys, ids)
  local wanted, new = {}, {}
  for i = 1, #keys do
    local key = keys[i]
    if not users[key] then
      local user = { id = ids[i], key = key, packed = nil, state = nil, changed = nil, sent = 0 }
      users[key] = user
      users[#users + 1] = user
      wanted[#wanted + 1], new[#new + 1] = key, user
    end
  end
  if #wanted > 0 then
    local packed = redis.call('MGET', unpack(wanted))
    for i = 1, #new do
      new[i].packed = packed[i] or nil
    end
  end
end

-- Decodes a user's state, or makes it; for a user who is certainly there nothing but the user is needed. A refused event
-- drops it, to be decoded again. `freezes`: those of a new user; `counters`: key of the tenant's counters.
local function state_of(user, now, freezes, counters)
  if not user.state then
    if user.packed then
      user.state = unpack_state(user.packed)
    else
      user.state = new_user(now, freezes, counters)
    end
  end
  return user.state
end

-- A user's packed state has at most LIMIT.stateBytes, and what requests say of the user in it LIMIT.profileBytes: so what a
-- request may bring leaves room for what events add. Redis decodes and encodes the whole state at each event, for which all
-- others wait.

-- Whether an event may bring a user near a bound; most users never cost more than this question. From 16 KiB on a state is
-- packed after each event, not only at the end of the call. `sent`: bytes of the user fields that come with the event, `plan`: the
-- event's. What an event adds beyond those fields is bounded by the catalog; but the group of a leaderboard with a breakdown
-- (`plan.grouped` of them) holds values of attributes again, so none is longer than what is known of the user.
local function near_full(user, sent, plan)
  user.sent = user.sent + sent
  return (user.sent + (user.packed and #user.packed or 0)) * (1 + (plan.grouped or 0)) > 16384
end

-- Whether a packed state may be written. One that is beyond the bound already may shrink. `before`: the packed state
-- before the change; nil or false for none.
local function has_room(packed, before)
  return #packed <= LIMIT.stateBytes or before and #packed <= #before
end

-- Why a state that a request has changed may not be written (a REFUSAL); nil: it may. See `has_room`.
local lack_of_room
do
  -- Bytes of what requests say of a user.
  local function profile_bytes(state)
    local bytes = #(state[USER.name] or '') + #(state[USER.email] or '') + #(state[USER.deviceTokens] or '')
    for _, value in pairs(state[USER.attributes] or {}) do
      bytes = bytes + #value
    end
    return bytes
  end

  lack_of_room = function(state, packed, before)
    local bytes = #packed > LIMIT.profileBytes and profile_bytes(state) or 0
    if bytes > LIMIT.profileBytes and not (before and bytes <= profile_bytes(unpack_state(before))) then
      return REFUSAL.profileTooLarge
    end
    return not has_room(packed, before) and REFUSAL.tooLarge or nil
  end
end
