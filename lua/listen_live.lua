--- @include "lib/live_streams"

--[[
Says that somebody listens to the live streams of some tenants of a shard, for a while: until then what leaves the outbox
is kept for them, and notifications that no record makes are announced to them. Repeated, it holds for longer. Publishes the
number of each tenant that nobody listened to, nobody for all users, or nobody for one of the users.

KEYS: 1 tenants listened to, 2 outbox, 3 announced notifications, then for each tenant its listening users (sorted set).
ARGV: 1 for how long (ms), 2 the channel to publish to, then for each tenant its number and for whom (JSON:
      { everybody = whether for all users, ranks = whether for ranks, users = IDs of single ones }).
Returns: the time (epoch ms), the youngest positions of the outbox and of the announced notifications, the oldest that
each has kept ('' where all are), and for each tenant the two positions since when nothing was left out.
Errors: those of Redis only.
Writes: tenants listened to, listening users.
Cost: O(tenants + users × log N).
]]
local listened, outbox, announced = unpack(KEYS)
local ttl_ms, channel = unpack(ARGV)
ttl_ms = tonumber(ttl_ms)
local LAST_POSITION = 'last-generated-id'
local FIRST_TENANT, FIRST_USERS = 3, 4

-- The youngest position of a stream, though its entry may have left.
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

-- Adds the users who listen; whether one of them did not.
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
