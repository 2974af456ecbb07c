--- @include "lib/live_streams"

--[[
Removes entries that Postgres holds from a shard's outbox, oldest first. Entries of tenants with live listeners move to the recent
entries in the same step, under the same positions, so a reader of both misses none. All entries are kept for a while as handed over,
in case an older copy of Postgres is restored; the last position that left is stored.

KEYS: 1 outbox, 2 recent entries, 3 tenants with listeners, 4 entries handed over, 5 their positions (hash, HANDED).
ARGV: 1 the position up to which to remove, 2 the next position after it, 3 retention of recent entries (ms), 4 their maximum size
      (bytes), 5 maximum entries per call, 6 retention of entries handed over (ms; 0: none), 7 their maximum size (bytes).
Returns: 1 if there may be more to remove, else 0.
Errors: those of Redis only.
Writes: all of its keys.
Cost: O(entries × their size), limited by argument 5; one XTRIM if nothing is kept and nobody listens.
]]
-- Keeps the first `count` of some entries that leave the outbox, and stores the last position that left. Removes entries
-- older than `keep_ms`, and with the last of several calls (`is_last`) the older half (by time) if they take more than
-- `max_bytes`; the last removed position becomes the floor. The stream expires when nothing is added for twice `keep_ms`.
-- Writes: handed.stream, handed.up_to.
local function keep_handed(handed, entries, count, now, is_last)
  if count == 0 then
    return
  end
  local stream, up_to = handed.stream, handed.up_to
  local last = unpack(entries[count])
  redis.call('HSET', up_to, HANDED.position, last)
  if handed.keep_ms == 0 then
    redis.call('HSET', up_to, HANDED.floor, last)
    return
  end
  redis.call('HSETNX', up_to, HANDED.floor, (unpack(entries[1])))
  for n = 1, count do
    local id, fields = unpack(entries[n])
    local reply = redis.pcall('XADD', stream, id, unpack(fields))
    if reply.err then
      -- A failed write must not stop the trimming. Entries before the gap are useless then.
      redis.call('DEL', stream)
      redis.call('HSET', up_to, HANDED.floor, id)
    end
  end
  local function drop_before(ms)
    local first = string.format('%.0f', ms)
    local gone = unpack(redis.call('XREVRANGE', stream, '(' .. first .. '-0', '-', 'COUNT', 1))
    if gone then
      redis.call('HSET', up_to, HANDED.floor, (unpack(gone)))
      redis.call('XTRIM', stream, 'MINID', '=', first)
    end
  end
  drop_before(now - handed.keep_ms)
  -- Counting the bytes costs more than some entries. Until the last call, entries only move from the outbox to the stream.
  if is_last and (redis.call('MEMORY', 'USAGE', stream, 'SAMPLES', 0) or 0) > handed.max_bytes then
    local oldest = unpack(redis.call('XRANGE', stream, '-', '+', 'COUNT', 1))
    local oldest_ms = tonumber(string.match(unpack(oldest), '^%d+'))
    drop_before(oldest_ms + math.ceil((now - oldest_ms) / 2))
  end
  redis.call('PEXPIRE', stream, handed.keep_ms * 2)
end

local outbox, recent, listened, handed_stream, handed_up_to = unpack(KEYS)
local position, next_position, keep_ms, max_bytes, most, handed_ms, handed_bytes = unpack(ARGV)
keep_ms, max_bytes, most = tonumber(keep_ms), tonumber(max_bytes), tonumber(most)
local handed =
  { stream = handed_stream, up_to = handed_up_to, keep_ms = tonumber(handed_ms), max_bytes = tonumber(handed_bytes) }
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
    -- A failed write must not stop the trimming. The new floor reports the gap.
    local reply = redis.pcall('XADD', recent, id, unpack(fields))
    if reply.err then
      redis.call('HSET', listened, LISTENED.recentFloor, next_position)
    else
      newest = id
    end
  end
end
keep_handed(handed, entries, math.min(#entries, most), now, is_last)
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
