--- @include "board_scores"
--- @include "calls"
--- @include "streaks"

-- Takes the current offset of a user's zone, if it was sent because the script asked for it. `renewed`: zone, offsetSeconds, untilMs;
-- or nil.
-- Returns: a refusal unknownOffset if the offset has ended and no other is sent; or nil and, if the offset has changed, the previous
-- one and its end (see settle_streaks).
local function renew_offset(state, renewed, now)
  if not state[USER.offsetUntilMs] or state[USER.offsetUntilMs] > now then
    return nil
  end
  if not renewed or renewed.zone ~= state[USER.zone] then
    return { [RECORD.kind] = REFUSAL.unknownOffset, [UNKNOWN_OFFSET.zone] = state[USER.zone] }
  end
  local left = { state[USER.offsetSeconds], state[USER.offsetUntilMs] }
  state[USER.offsetSeconds], state[USER.offsetUntilMs] = renewed.offsetSeconds, renewed.untilMs
  return nil, left[LEFT.offsetSeconds] ~= renewed.offsetSeconds and left or nil
end

-- The reply of a call about one user that wrote nothing. `reply`: a refusal, or a record that says that nothing had to be done.
local function unwritten(reply, packed_state)
  return { cmsgpack.pack(reply), packed_state or '', '' }
end

-- Opens a call about one user: see open_call. The first of its own keys is the user's; it is not in `keys`. `user`: see
-- read_user. The body has userId and id (of the call, 32 hex digits).
-- Returns: the call; and the script's reply if an earlier try was applied, or if the user does not exist and `may_be_new` is
-- not set; nil if the call must go on.
local function open_user_call(keys, args, may_be_new)
  local call = open_call(keys, args)
  local body = call.body
  local user = read_user({}, table.remove(call.keys, 1), body.userId)
  call.user = user
  local earlier, position = earlier_try(call, body.id)
  if earlier then
    return call, { earlier, user.packed or '', position }
  end
  if not user.packed and not may_be_new then
    return call, unwritten({ [RECORD.kind] = REFUSAL.unknownUser })
  end
  return call
end

-- Ends a call about one user. Writes the state, unless it is too large, with the record and its leaderboard changes. `write`: makes
-- the script's own writes; or nil. Returns: the script's reply: the packed record or refusal; the user's packed state; the position in
-- the outbox ('' if nothing was written).
local function close_user_call(call, record, changes, write)
  local user = call.user
  local packed = pack_state(user.state)
  local full = lack_of_room(user.state, packed, user.packed)
  if full then
    return unwritten({ [RECORD.kind] = full })
  end
  if write then
    write()
  end
  user.packed = packed
  local reply = write_record(call, record, changes)
  return { reply, packed, write_users(call, { reply }, { user }) }
end
