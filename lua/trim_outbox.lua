--- @include "lib/bound_stream"
--- @include "lib/listened_tenants"

--[[
Removes entries from a shard's outbox that Postgres holds, oldest first. Those of tenants whose live streams somebody
listens to go to the recent entries in the same step, under the same positions: so that whoever reads both misses none.

KEYS: 1 outbox, 2 recent entries, 3 tenants listened to.
ARGV: 1 the position up to which to remove, 2 the next one after it, 3 how long recent entries are kept (ms), 4 most bytes
      of them, 5 most entries to look at in one call.
Returns: 1 if there may be more to remove, else 0.
Errors: those of Redis only.
Writes: outbox, recent entries, tenants listened to.
Cost: that of XTRIM while nobody listens; else O(entries × their size) too, for at most as many as ARGV 5 says.
]]
local outbox, recent, listened = KEYS[1], KEYS[2], KEYS[3]
local position, next_position, keep_ms, max_bytes = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local most = tonumber(ARGV[5])

if redis.call('EXISTS', listened) == 0 then
  redis.call('XTRIM', outbox, 'MINID', '=', next_position)
  return 0
end

local now, wanted, newest = redis_ms(), {}, nil
local entries = redis.call('XRANGE', outbox, '-', position, 'COUNT', most + 1)
local is_last = #entries <= most
for n = 1, math.min(#entries, most) do
  local id, fields = unpack(entries[n])
  local _, tenant_no = unpack(fields)
  if wanted[tenant_no] == nil then
    wanted[tenant_no] = listened_since(listened, tenant_no, now) ~= nil
  end
  if wanted[tenant_no] then
    -- An entry that cannot be kept must not keep the outbox from being trimmed: it is a gap that is said.
    local reply = redis.pcall('XADD', recent, id, unpack(fields))
    if reply.err then
      redis.call('HSET', listened, LISTENED.recentFloor, next_position)
    else
      newest = id
    end
  end
end
if newest then
  bound_stream(recent, listened, {
    now = now,
    keep_ms = keep_ms,
    max_bytes = max_bytes,
    floor = LISTENED.recentFloor,
    newest = newest,
  })
end
if is_last then
  redis.call('XTRIM', outbox, 'MINID', '=', next_position)
  return 0
end
local first_left = unpack(entries[#entries])
redis.call('XTRIM', outbox, 'MINID', '=', first_left)
return 1
