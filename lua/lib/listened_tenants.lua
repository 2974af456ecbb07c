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
