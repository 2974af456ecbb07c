-- Whether a user's attributes meet all conditions { attribute no, value }; true without conditions.
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

-- Whether a user has completed all of some achievements (numbers).
local function has_all(completions, numbers)
  for i = 1, #numbers do
    if not completions[numbers[i]] then
      return false
    end
  end
  return true
end

-- Frequency → first position of its streak in a state; offsets of STREAK count from there.
local streak_at = {
  [FREQUENCY.daily] = USER.streaks,
  [FREQUENCY.weekly] = USER.streaks + STREAK.size,
  [FREQUENCY.monthly] = USER.streaks + 2 * STREAK.size,
}

local function put_streak(state, frequency, streak)
  local at = streak_at[frequency]
  for offset = STREAK.length, STREAK.currentPeriod do
    state[at + offset] = streak[1 + offset]
  end
  local sums = streak[1 + STREAK.sums]
  state[at + STREAK.sums] = next(sums) and sums or nil
end

local function unpack_state(packed)
  return { cmsgpack.unpack(packed) }
end

-- Packs a state. Missing fields after the last existing one take no space. Lua keeps at least the first STATE.first
-- positions of a state in the array part of its table, which `next` visits in order and before all others. So the search for
-- the last field visits only the few fields after these; testing each of the possible positions took 2,500 instructions.
local function pack_state(state)
  local last, position = STATE.first, next(state, STATE.first)
  while position do
    if position > last then
      last = position
    end
    position = next(state, position)
  end
  return cmsgpack.pack(unpack(state, 1, last))
end

-- Deleting a user starts a new generation for the tenant's new users (counter `d`), so that used idempotency keys of a deleted user
-- do not apply to a new one with the same ID. Nil before the first deletion, which costs the state no byte.
-- `counters`: the key of the tenant's counters.
local function generation_of_new_users(counters)
  return tonumber(redis.call('HGET', counters, COUNTER.generation))
end

-- The state of a new user; see src/packed/user-fields.ts. `counters`: key of the tenant's counters.
local new_user
do
  local NO_STREAK = { 0, -1, -1, -1, -1, {} }
  local NO_FIELDS = {}

  new_user = function(now, freezes, counters)
    -- A list, see `pack_state`.
    local state = { unpack(NO_FIELDS, 1, STATE.first) }
    state[USER.createdMs], state[USER.updatedMs], state[USER.activeDay] = now, now, -1
    state[USER.totals], state[USER.counts], state[USER.points] = {}, {}, {}
    state[USER.completions], state[USER.boards] = {}, {}
    for frequency = FREQUENCY.daily, FREQUENCY.monthly do
      put_streak(state, frequency, NO_STREAK)
    end
    state[USER.freezes] = freezes > 0 and freezes or nil
    state[USER.generation] = generation_of_new_users(counters)
    return state
  end
end

-- The users of a call, each read once: { id, key, packed, state, changed, sent }. `state` is decoded on first use; `sent` counts
-- the bytes of user fields (see near_full).
local function read_user(users, key, id)
  local user = users[key]
  if not user then
    user = { id = id, key = key, packed = redis.call('GET', key) or nil, sent = 0 }
    users[key] = user
    users[#users + 1] = user
  end
  return user
end

-- Decodes or creates a user's state. For an existing user, `user` suffices. A refused event discards the state, which is
-- decoded again.
-- `freezes`: those of a new user; `counters`: key of the tenant's counters.
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

-- A packed state has at most LIMIT.stateBytes, of which fields from requests take at most LIMIT.profileBytes, so that events
-- have room for what they add. Redis decodes and encodes the whole state at each event, which blocks all other commands.

-- Whether a packed state may be written. A state that already exceeds the limit may shrink. `before`: the packed state before the
-- change; nil or false for none.
local function has_room(packed, before)
  return #packed <= LIMIT.stateBytes or before and #packed <= #before
end

-- Why a state that a request changed may not be written (a REFUSAL), or nil. See `has_room`.
local lack_of_room
do
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
