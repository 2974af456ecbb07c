--- @include "upsert_user"

-- The first step of whatever concerns a user: the stored zone's offset must hold for this time, then the sent
-- fields (see upsert_user; nil for none) are laid over the state.
-- Returns: nil, or a refusal (`z` or `m`) that leaves the state as it was.
local function admit_user(state, sent, now, plan)
  local renewed = sent and (sent.z ~= nil or sent.zn == state.z)
  if state.zu and state.zu <= now and not renewed then
    return { k = 'z', tz = state.z }
  end
  if sent and not upsert_user(state, sent, now, plan) then
    return { k = 'm' }
  end
  return nil
end
