--- @include "new_user"
--- @include "packed_state"

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
