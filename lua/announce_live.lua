--- @include "lib/live_streams"

--[[
Announces notifications that no outbox record causes to the live streams of their tenants. Writes nothing if nobody listens.

KEYS: 1 announced notifications, 2 tenants with listeners.
ARGV: 1 retention (ms), 2 maximum size (bytes), then for each notification the tenant's number and its JSON text.
Returns: the number of notifications announced.
Errors: those of Redis only.
Writes: announced notifications, tenants with listeners.
Cost: O(notifications × their size) while somebody listens, else one EXISTS.
]]
local announced, listened = unpack(KEYS)
local keep_ms, max_bytes = unpack(ARGV)
local FIRST = 3

if redis.call('EXISTS', listened) == 0 then
  return 0
end
local now, newest, count = redis_ms(), nil, 0
for at = FIRST, #ARGV, 2 do
  local tenant_no, notification = unpack(ARGV, at, at + 1)
  if listened_since(listened, tenant_no, now) then
    newest = redis.call('XADD', announced, '*', ANNOUNCED.tenant, tenant_no, ANNOUNCED.notification, notification)
    count = count + 1
  end
end
if newest then
  bound_stream(announced, listened, {
    now = now,
    keep_ms = tonumber(keep_ms),
    max_bytes = tonumber(max_bytes),
    floor = LISTENED.announcedFloor,
    newest = newest,
  })
end
return count
