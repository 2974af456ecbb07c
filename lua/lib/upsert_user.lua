--- @include "settle_streaks"
--- @include "shift_streaks"

-- Lays the sent fields over a user's state: sent ones replace, others stay, `false` clears.
-- `sent`: n name, e e-mail, d device tokens (JSON text), sub subscribe to e-mails, a { attribute no = value },
-- z time zone with zo its offset in seconds and zu the epoch ms until which that holds; zn instead of z only
-- renews offset and end for a user who is in that zone; bn, bo with z: the zone left behind, with its offset now.
-- What the clock did in the zone left behind is settled there first.
-- Writes: sent.changed = true if name, e-mail or an attribute has another value now: what users are searched by;
-- sent.moved = true if the zone has; sent.left = { the zone's offset before, until when } if only that has (see
-- settle_streaks).
-- Who unsubscribed stays so until they subscribe again: an address that comes along with an event is no consent.
-- Returns: true and what was settled (see settle_streaks), or false for a subscription without an e-mail address.
local function upsert_user(state, sent, now, plan)
  local name, email = state.n, state.e
  local address = email
  if sent.e ~= nil then
    address = sent.e or nil
  end
  -- An earlier version stored '' for an address that was cleared.
  if sent.sub == true and (address or '') == '' then
    return false
  end
  if sent.n ~= nil then
    state.n = sent.n or nil
  end
  state.e = address
  if sent.sub == false then
    state.e, state.un = nil, 1
  elseif sent.sub == true then
    state.un = nil
  end
  if state.n ~= name or state.e ~= email then
    sent.changed = true
  end
  if sent.d ~= nil then
    state.d = sent.d or nil
  end
  if sent.a then
    state.a = state.a or {}
    for no, value in pairs(sent.a) do
      if state.a[tonumber(no)] ~= value then
        state.a[tonumber(no)] = value
        sent.changed = true
      end
    end
  end
  local told
  if sent.z ~= nil and (sent.z or nil) ~= state.z then
    -- Who is seen for the first time, and is there already, comes from nowhere.
    if state.c ~= now or state.s[1][5] ~= -1 then
      local left = { state.zo or 0, state.zu }
      state.zo = sent.bn and sent.bn == state.z and sent.bo or state.zo
      local before = math.floor((now + (state.zo or 0) * 1000) / 86400000)
      local after = math.floor((now + (sent.zo or 0) * 1000) / 86400000)
      local row = plan.periods[before - plan.firstDay + 1]
      told = settle_streaks(state, plan.streak, row, left)
      -- Moving back changes nothing, but for one who acted the days that began already do not begin again.
      local latest = math.max(before, state.sd or before)
      if after > latest then
        shift_streaks(state.s, plan.periods[latest - plan.firstDay + 1], plan.periods[after - plan.firstDay + 1])
      end
      state.sd = after < latest and state.s[1][5] ~= -1 and latest or nil
    end
    state.z = sent.z or nil
    sent.moved = true
  end
  if sent.z ~= nil or (sent.zn and sent.zn == state.z) then
    if not sent.moved and sent.zo ~= state.zo then
      sent.left = { state.zo, state.zu }
    end
    state.zo, state.zu = sent.zo, sent.zu
  end
  return true, told
end
