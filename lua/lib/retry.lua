local function position_before(id)
  local ms, sequence = string.match(id, '(%d+)-(%d+)')
  if tonumber(sequence) > 0 then
    return ms .. '-' .. string.format('%.0f', tonumber(sequence) - 1)
  end
  return string.format('%.0f', tonumber(ms) - 1) .. '-18446744073709551615'
end

-- Finds what earlier tries of a call applied before the connection was lost. Their records are in the outbox or, if the outbox was
-- trimmed since, in Postgres.
-- Returns: { record = function(event ID) → packed record or nil }, or { left = position } if entries after `since` may have left the
-- outbox; Postgres holds everything up to that position.
-- Cost: O(entries since then), only for retries.
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
  -- If nothing was added since, or the entry at `since` is still there, no later entry has left.
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
    -- Takes an event's last record, because an event released from quarantine has an earlier one from its quarantine.
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
