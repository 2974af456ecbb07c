--- @include "held_writes"

-- The user's events in quarantine, including changes of this call: { key, user, events (QUARANTINED), added }; `added` is the net
-- number added by this call. `board_prefix`: the tenant's hash is found from it (src/redis/keys.ts).
local function in_quarantine(board_prefix, user_id)
  local all = held('quarantine')
  local own = all[user_id]
  if not own then
    local key = string.gsub(board_prefix, 'b:$', QUARANTINED.keyEnd)
    own = { key = key, user = user_id, events = redis.call('HGET', key, user_id) or '', added = 0 }
    all[user_id] = own
  end
  return own
end

local function quarantined_at(own, event_id)
  for at = 1, #own.events, QUARANTINED.length do
    if string.sub(own.events, at, at + QUARANTINED.idLength - 1) == event_id then
      return at
    end
  end
end

local function is_quarantined(own, event_id)
  return quarantined_at(own, event_id) ~= nil
end

-- Removes an event, which must be in quarantine.
local function take_from_quarantine(own, event_id)
  local at = quarantined_at(own, event_id)
  own.events = string.sub(own.events, 1, at - 1) .. string.sub(own.events, at + QUARANTINED.length)
  own.added = own.added - 1
end

-- Removes all events of a user and writes that at once.
local function drop_all_quarantined(board_prefix, user_id)
  local own = in_quarantine(board_prefix, user_id)
  own.events, own.added = '', -#own.events / QUARANTINED.length
  if own.added ~= 0 then
    redis.call('HINCRBY', own.key, QUARANTINED.count, own.added)
    redis.call('HDEL', own.key, own.user)
  end
end

-- Writes the changes of the call. A user without waiting events takes no space.
local function write_quarantine()
  for _, own in pairs(held('quarantine')) do
    if own.added ~= 0 then
      redis.call('HINCRBY', own.key, QUARANTINED.count, own.added)
      if own.events == '' then
        redis.call('HDEL', own.key, own.user)
      else
        redis.call('HSET', own.key, own.user, own.events)
      end
    end
  end
end
