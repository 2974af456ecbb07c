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

-- Until when (epoch ms) somebody listens to what is due for any user of a tenant, and somebody to ranks; `until_ms`: until
-- when anybody listens. Frontends of earlier versions do not say it, which shows by another `until_ms`: they want both.
local function listened_for(listened, tenant_no, until_ms)
  local text = redis.call('HGET', listened, listeners_field(tenant_no)) or ''
  local as_of_ms, everybody_ms, ranks_ms = string.match(text, '^(%d+) (%d+) (%d+)$')
  if tonumber(as_of_ms) ~= until_ms then
    return until_ms, until_ms
  end
  return tonumber(everybody_ms), tonumber(ranks_ms)
end

-- Whether somebody listens to ranks of a tenant.
local function are_ranks_listened(listened, tenant_no)
  local now = redis_ms()
  local until_ms = listened_since(listened, tenant_no, now)
  if not until_ms then
    return false
  end
  local _, ranks_ms = listened_for(listened, tenant_no, until_ms)
  return ranks_ms > now
end
