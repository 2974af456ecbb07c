-- Keeps the first `count` of some entries that leave the outbox, and notes how far it was left. Those older than `keep_ms` go,
-- and the older half in time where they take more than `max_bytes`; the last that went is the floor. The whole stream goes
-- when nothing was added to it for twice as long. Writes: handed.stream, handed.up_to.
local function keep_handed(handed, entries, count, now)
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
      -- It must not keep the outbox from being trimmed; without it, those before it are of no use.
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
  if (redis.call('MEMORY', 'USAGE', stream, 'SAMPLES', 0) or 0) > handed.max_bytes then
    local oldest = unpack(redis.call('XRANGE', stream, '-', '+', 'COUNT', 1))
    local oldest_ms = tonumber(string.match(unpack(oldest), '^%d+'))
    drop_before(oldest_ms + math.ceil((now - oldest_ms) / 2))
  end
  redis.call('PEXPIRE', stream, handed.keep_ms * 2)
end
