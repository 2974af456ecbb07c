--- @include "lib/bound_stream"
--- @include "lib/keep_handed"
--- @include "lib/listened_tenants"

--[[
Removes entries from a shard's outbox that Postgres holds, oldest first. Those of tenants whose live streams somebody
listens to go to the recent entries in the same step, under the same positions: so that whoever reads both misses none. All
are kept for a while, for a Postgres that comes back older, and it is noted how far entries left.

KEYS: 1 outbox, 2 recent entries, 3 tenants listened to, 4 entries handed over, 5 up to where they are.
ARGV: 1 the position up to which to remove, 2 the next one after it, 3 how long recent entries are kept (ms), 4 most bytes
      of them, 5 most entries to look at in one call, 6 how long entries handed over are kept (ms; 0: not), 7 most bytes of them.
Returns: 1 if there may be more to remove, else 0.
Errors: those of Redis only.
Writes: all of its keys.
Cost: O(entries × their size), for at most as many as ARGV 5 says; that of XTRIM where nothing is kept and nobody listens.
]]
local outbox, recent, listened = KEYS[1], KEYS[2], KEYS[3]
local position, next_position, keep_ms, max_bytes = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local most = tonumber(ARGV[5])
local handed_stream, handed_up_to, handed_ms, handed_bytes = KEYS[4], KEYS[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local handed = { stream = handed_stream, up_to = handed_up_to, keep_ms = handed_ms, max_bytes = handed_bytes }
local is_listened = redis.call('EXISTS', listened) == 1

if not is_listened and handed.keep_ms == 0 then
  if redis.call('XTRIM', outbox, 'MINID', '=', next_position) > 0 then
    redis.call('HSET', handed.up_to, HANDED.position, position, HANDED.floor, position)
  end
  return 0
end

local now, wanted, newest = redis_ms(), {}, nil
local entries = redis.call('XRANGE', outbox, '-', position, 'COUNT', most + 1)
local is_last = #entries <= most
for n = 1, math.min(#entries, most) do
  local id, fields = unpack(entries[n])
  local _, tenant_no = unpack(fields)
  if wanted[tenant_no] == nil then
    wanted[tenant_no] = is_listened and listened_since(listened, tenant_no, now) ~= nil
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
keep_handed(handed, entries, math.min(#entries, most), now)
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
