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
