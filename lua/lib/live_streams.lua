-- Epoch ms by Redis's own clock, because listeners and writers may be on different machines.
local function redis_ms()
  local seconds, micros = unpack(redis.call('TIME'))
  return tonumber(seconds) * 1000 + math.floor(tonumber(micros) / 1000)
end

-- Reads a tenant's field of the tenants with live listeners. Returns: until when somebody listens (epoch ms), and the
-- positions in the outbox and in the announced notifications from which nothing is missing; nil if nobody listens at `now`.
local function listened_since(listened, tenant_no, now)
  local text = redis.call('HGET', listened, tenant_no)
  if not text then
    return nil
  end
  local until_ms, outbox_since, announced_since = string.match(text, '^(%d+) (%S+) (%S+)$')
  if tonumber(until_ms) <= now then
    return nil
  end
  return tonumber(until_ms), outbox_since, announced_since
end

-- The field that holds for which users of a tenant, and for what, somebody listens.
local function listeners_field(tenant_no)
  return LISTENED.listeners .. tenant_no
end

-- For a tenant with listeners: until when (epoch ms) somebody listens for all of its users, and until when somebody listens
-- to ranks; 0 if nobody does.
local function listened_for(listened, tenant_no)
  local everybody_ms, ranks_ms = string.match(redis.call('HGET', listened, listeners_field(tenant_no)), '^(%d+) (%d+)$')
  return tonumber(everybody_ms), tonumber(ranks_ms)
end

local function are_ranks_listened(listened, tenant_no)
  local now = redis_ms()
  if not listened_since(listened, tenant_no, now) then
    return false
  end
  local _, ranks_ms = listened_for(listened, tenant_no)
  return ranks_ms > now
end

-- Bounds a stream that lets live streams catch up. Removes entries older than `keep_ms`, and the older half if the stream
-- takes more than `max_bytes`; the field `floor` of `listened` then gets the oldest remaining position. The stream expires
-- when nothing is added for twice `keep_ms`. Writes: stream, listened.
local function bound_stream(stream, listened, bounds)
  redis.call('XTRIM', stream, 'MINID', '~', string.format('%.0f', bounds.now - bounds.keep_ms))
  if (redis.call('MEMORY', 'USAGE', stream, 'SAMPLES', 0) or 0) > bounds.max_bytes then
    redis.call('XTRIM', stream, 'MAXLEN', '=', math.floor(redis.call('XLEN', stream) / 2))
    local oldest = unpack(redis.call('XRANGE', stream, '-', '+', 'COUNT', 1))
    local floor = oldest and unpack(oldest)
    redis.call('HSET', listened, bounds.floor, floor or bounds.newest)
  end
  redis.call('PEXPIRE', stream, bounds.keep_ms * 2)
end
