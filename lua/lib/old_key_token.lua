--- @include "old_key_place"

-- Whether a text of fingerprints holds one.
local function holds_fingerprint(text, wanted)
  local at = string.find(text, wanted, 1, true)
  while at and (at - 1) % #wanted ~= 0 do
    at = string.find(text, wanted, at + 1, true)
  end
  return at ~= nil
end

-- Nil: a key that is not hot was never used. Else a token: it may have been, and Postgres knows. As long as the token
-- is the same, no key of its segment became old: so what Postgres said after the token was given still holds.
-- `base`: key of the tenant's old keys; `segments`: how many there are, 0 without old keys; `generation`: the user's.
local function old_key_token(base, segments, bucket, field, generation)
  if segments == 0 then
    return nil
  end
  local segment, wanted = old_key_place(bucket, field, segments)
  local text = redis.call('GET', segment_key(base, segment))
  if not text or not holds_fingerprint(text, wanted) then
    return nil
  end
  return string.format('%.0f:%.0f:%.0f', segments, #text, generation or 0)
end
