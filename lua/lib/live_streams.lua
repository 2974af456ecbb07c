-- Epoch ms by Redis's own clock: what listens and what is kept for it may be on several machines.
local function redis_ms()
  local seconds, micros = unpack(redis.call('TIME'))
  return tonumber(seconds) * 1000 + math.floor(tonumber(micros) / 1000)
end

-- A tenant's field of the tenants listened to. Returns: until when they are (epoch ms), the positions in the outbox and
-- in the announced notifications since when nothing was left out; nil where nobody listens at `now`.
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

-- The field of the tenants listened to that says for whom a tenant's streams are.
local function listeners_field(tenant_no)
  return LISTENED.listeners .. tenant_no
end

-- For a tenant that somebody listens to: until when (epoch ms) somebody listens for all of its users, and until when somebody
-- listens to ranks. 0 if nobody does.
local function listened_for(listened, tenant_no)
  local everybody_ms, ranks_ms = string.match(redis.call('HGET', listened, listeners_field(tenant_no)), '^(%d+) (%d+)$')
  return tonumber(everybody_ms), tonumber(ranks_ms)
end

-- Whether somebody listens to ranks of a tenant.
local function are_ranks_listened(listened, tenant_no)
  local now = redis_ms()
  if not listened_since(listened, tenant_no, now) then
    return false
  end
  local _, ranks_ms = listened_for(listened, tenant_no)
  return ranks_ms > now
end

-- Keeps a stream of what live streams may have missed small: entries older than `keep_ms` leave, and the older half where
-- it takes more than `max_bytes`; the oldest that stayed is then noted in the field `floor` of the tenants listened to.
-- The whole stream goes when nothing was added to it for twice as long. Writes: stream, listened.
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
