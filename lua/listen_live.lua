--- @include "lib/listened_tenants"

--[[
Says that somebody listens to the live streams of some tenants of a shard, for a while: until then what leaves the outbox
is kept for them, and notifications that no record makes are announced to them. Repeated, it holds for longer. Publishes the
number of each tenant that nobody listened to.

KEYS: 1 tenants listened to, 2 outbox, 3 announced notifications.
ARGV: 1 for how long (ms), 2 the channel to publish to, then the tenants' numbers.
Returns: the time (epoch ms), the youngest positions of the outbox and of the announced notifications, the oldest that
each has kept ('' where all are), and for each tenant the two positions since when nothing was left out.
Errors: those of Redis only.
Writes: tenants listened to.
Cost: O(tenants).
]]
local listened, outbox, announced = KEYS[1], KEYS[2], KEYS[3]
local ttl_ms, channel = tonumber(ARGV[1]), ARGV[2]
local LAST_POSITION = 'last-generated-id'

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
for at = 3, #ARGV do
  local tenant_no = ARGV[at]
  local until_ms, outbox_since, announced_since = listened_since(listened, tenant_no, now)
  if not until_ms then
    outbox_since, announced_since = outbox_last, announced_last
    redis.call('PUBLISH', channel, tenant_no)
  end
  redis.call('HSET', listened, tenant_no, string.format('%.0f %s %s', now + ttl_ms, outbox_since, announced_since))
  reply[#reply + 1] = outbox_since
  reply[#reply + 1] = announced_since
end
redis.call('PEXPIRE', listened, ttl_ms)
return reply
