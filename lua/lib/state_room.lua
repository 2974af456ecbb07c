-- A user's packed state has at most LIMIT.stateBytes. All that requests may say of a user is 22 KB and 1 KB an attribute:
-- with 100 attributes of full length, and their values again as groups of 50 boards with a breakdown, about 180 KB. One user
-- of 256 KiB costs Redis about 2 ms an event; without a bound one of 10.8 MB cost 35 ms, for which all others wait.

-- From here on a state is packed after each event, not only at the end of the call. What an event adds beyond the fields
-- that it sends (groups of boards, totals) is bounded by the catalog.
local WATCHED_BYTES = 65536

-- Whether an event may bring a user near the bound; most users never cost more than this question. `sent`: bytes of the
-- user fields that come with the event.
local function near_full(user, sent)
  user.sent = user.sent + sent
  return user.sent + (user.packed and #user.packed or 0) > WATCHED_BYTES
end

-- Whether a packed state may be written. One that is beyond the bound already may shrink. `before`: the packed state
-- before the change; nil or false for none.
local function has_room(packed, before)
  return #packed <= LIMIT.stateBytes or before and #packed <= #before
end
