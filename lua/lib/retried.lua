-- The last position of a stream before an entry.
local function position_before(id)
  local ms, sequence = string.match(id, '(%d+)-(%d+)')
  if tonumber(sequence) > 0 then
    return ms .. '-' .. string.format('%.0f', tonumber(sequence) - 1)
  end
  return string.format('%.0f', tonumber(ms) - 1) .. '-18446744073709551615'
end

-- For a retry after a lost connection: what earlier tries of the same call have applied is in the outbox,
-- or, if it was taken from there since, in Postgres.
-- Returns: { record = function(event id) → packed record or nil }, or { left = position } if entries after
-- `since` may have left the outbox: Postgres holds everything up to that position.
-- Cost: O(entries since then); only retries pay it.
local function open_retry(outbox, since)
  if redis.call('EXISTS', outbox) == 0 then
    return { record = function() end }
  end
  local info = {}
  local reply = redis.call('XINFO', 'STREAM', outbox)
  for i = 1, #reply, 2 do
    info[reply[i]] = reply[i + 1]
  end
  local entries = redis.call('XRANGE', outbox, '(' .. since, '+')
  -- If nothing was added since, or the entry at `since` is still there, none behind it has left.
  local anchored = info['last-generated-id'] == since or #redis.call('XRANGE', outbox, since, since) == 1
  if not anchored then
    if not entries[1] then
      return { left = info['last-generated-id'] }
    end
    local left = position_before(entries[1][1])
    if left ~= since then
      return { left = left }
    end
  end
  return {
    -- The last of an event: one that was released from quarantine had a record when it was kept.
    record = function(event_id)
      for n = #entries, 1, -1 do
        local entry = entries[n]
        local packed = entry[2][4]
        if string.find(packed, event_id, 1, true) then
          for _, record in ipairs({ cmsgpack.unpack(packed) }) do
            if record[EVENT_RECORD.id] == event_id or record[RECORD.id] == event_id then
              return cmsgpack.pack(record)
            end
          end
        end
      end
    end,
  }
end
