--- @include "retried"

-- For a call of one thing: what an earlier try of it came to. `retry_position`: '' for a first try, else an outbox position
-- from before it; `happened_id`: the ID in its record.
-- Returns: nil if none was applied; else the packed record and '', or, if it may have left the outbox for Postgres, the
-- refusal `d`, packed, and the position up to which Postgres is to be asked.
local function earlier_try(outbox, retry_position, happened_id)
  if retry_position == '' then
    return nil
  end
  local find_retried = open_retry(outbox, retry_position)
  if find_retried.left then
    return cmsgpack.pack({ [RECORD.kind] = REFUSAL.maybeStored, [MAYBE_STORED.upTo] = find_retried.left }),
      find_retried.left
  end
  return find_retried.record(happened_id), ''
end
