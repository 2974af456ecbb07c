--- @include "lib/live_streams"

--[[
Registers or renews listeners to the live streams of some tenants of a shard. Until the registration expires, entries that
leave the outbox are kept for them, and notifications that no record causes are announced to them. Publishes the number of
each tenant that had no listener, no listener for all users, or no listener for one of the given users.

KEYS: 1 tenants with listeners, 2 outbox, 3 announced notifications, then for each tenant its users with listeners (sorted
      set).
ARGV: 1 duration (ms), 2 the channel to publish to, then for each tenant its number and its listeners (JSON: { everybody =
      whether for all users, ranks = whether for ranks, users = IDs of single users }).
Returns: the time (epoch ms); the newest positions in the outbox and in the announced notifications; the oldest position that
      each has kept ('' if all are kept); and for each tenant the two positions from which nothing is missing.
Errors: those of Redis only.
Writes: tenants with listeners, users with listeners.
Cost: O(tenants + users × log N).
]]
local listened, outbox, announced = unpack(KEYS)
local ttl_ms, channel = unpack(ARGV)
ttl_ms = tonumber(ttl_ms)
local LAST_POSITION = 'last-generated-id'
local FIRST_TENANT, FIRST_USERS = 3, 4

-- The newest position in a stream, even if its entry was removed.
local function last_of(stream)
  if redis.call('EXISTS', stream) == 0 then
    return '0-0'
  end
  local is_next = false
  for _, value in ipairs(redis.call('XINFO', 'STREAM', stream)) do
    if is_next then
      return value
    end
    is_next = value == LAST_POSITION
  end
end

local now, outbox_last, announced_last = redis_ms(), last_of(outbox), last_of(announced)
local reply = {
  string.format('%.0f', now),
  outbox_last,
  announced_last,
  redis.call('HGET', listened, LISTENED.recentFloor) or '',
  redis.call('HGET', listened, LISTENED.announcedFloor) or '',
}

local function add_users(listening, users)
  redis.call('ZREMRANGEBYSCORE', listening, '-inf', string.format('%.0f', now))
  local added = 0
  for _, user_id in ipairs(users) do
    added = added + redis.call('ZADD', listening, string.format('%.0f', now + ttl_ms), user_id)
  end
  redis.call('PEXPIRE', listening, ttl_ms)
  return added > 0
end

for at = FIRST_TENANT, #ARGV, 2 do
  local tenant_no, whom = unpack(ARGV, at, at + 1)
  whom = cjson.decode(whom)
  local until_ms, outbox_since, announced_since = listened_since(listened, tenant_no, now)
  local everybody_ms, ranks_ms = 0, 0
  if until_ms then
    everybody_ms, ranks_ms = listened_for(listened, tenant_no)
  else
    outbox_since, announced_since = outbox_last, announced_last
  end
  local is_new = not until_ms or (whom.everybody and everybody_ms <= now)
  if add_users(KEYS[FIRST_USERS + (at - FIRST_TENANT) / 2], whom.users) or is_new then
    redis.call('PUBLISH', channel, tenant_no)
  end
  until_ms = now + ttl_ms
  everybody_ms, ranks_ms = whom.everybody and until_ms or everybody_ms, whom.ranks and until_ms or ranks_ms
  redis.call(
    'HSET',
    listened,
    tenant_no,
    string.format('%.0f %s %s', until_ms, outbox_since, announced_since),
    listeners_field(tenant_no),
    string.format('%.0f %.0f', everybody_ms, ranks_ms)
  )
  reply[#reply + 1] = outbox_since
  reply[#reply + 1] = announced_since
end
redis.call('PEXPIRE', listened, ttl_ms)
return reply
