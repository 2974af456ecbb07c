--- @include "lib/live_streams"

--[[
Announces notifications that no record of the outbox makes to the live streams of their tenants. Nothing is written where
nobody listens.

KEYS: 1 announced notifications, 2 tenants listened to.
ARGV: 1 how long they are kept (ms), 2 most bytes of them, then for each notification the tenant's number and its JSON text.
Returns: how many were announced.
Errors: those of Redis only.
Writes: announced notifications, tenants listened to.
Cost: O(notifications × their size) while somebody listens, else that of one EXISTS.
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
