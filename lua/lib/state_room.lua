--- @include "packed_state"

-- A user's packed state has at most LIMIT.stateBytes, and what requests say of the user in it LIMIT.profileBytes: so what a
-- request may bring leaves room for what events add. Redis decodes and encodes the whole state at each event, for which all
-- others wait.

-- Whether an event may bring a user near a bound; most users never cost more than this question. From 16 KiB on a state is
-- packed after each event, not only at the end of the call. `sent`: bytes of the user fields that come with the event, `plan`: the
-- event's. What an event adds beyond those fields is bounded by the catalog; but the group of a leaderboard with a breakdown
-- (`plan.grouped` of them) holds values of attributes again, so none is longer than what is known of the user.
local function near_full(user, sent, plan)
  user.sent = user.sent + sent
  return (user.sent + (user.packed and #user.packed or 0)) * (1 + (plan.grouped or 0)) > 16384
end

-- Whether a packed state may be written. One that is beyond the bound already may shrink. `before`: the packed state
-- before the change; nil or false for none.
local function has_room(packed, before)
  return #packed <= LIMIT.stateBytes or before and #packed <= #before
end

-- Why a state that a request has changed may not be written (a REFUSAL); nil: it may. See `has_room`.
local lack_of_room
do
  -- Bytes of what requests say of a user.
  local function profile_bytes(state)
    local bytes = #(state[USER.name] or '') + #(state[USER.email] or '') + #(state[USER.deviceTokens] or '')
    for _, value in pairs(state[USER.attributes] or {}) do
      bytes = bytes + #value
    end
    return bytes
  end

  lack_of_room = function(state, packed, before)
    local bytes = #packed > LIMIT.profileBytes and profile_bytes(state) or 0
    if bytes > LIMIT.profileBytes and not (before and bytes <= profile_bytes(unpack_state(before))) then
      return REFUSAL.profileTooLarge
    end
    return not has_room(packed, before) and REFUSAL.tooLarge or nil
  end
end
