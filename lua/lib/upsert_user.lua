--- @include "add_settlements"
--- @include "settle_streaks"
--- @include "shift_streaks"
--- @include "streak_at"

-- Lays the sent fields over a user's state: sent ones replace, others stay, `false` clears.
-- `sent` (see sent_of): n name, e e-mail, d device tokens (JSON text), sub subscribe to e-mails, a { attribute no = value },
-- z time zone with zo its offset in seconds and zu the epoch ms until which that holds; zn instead of z only
-- renews offset and end for a user who is in that zone; bn, bo with z: the zone left behind, with its offset now.
-- What the clock did in the zone left behind is settled there first.
-- Writes: seen.changed = true if name, e-mail, an attribute or the sign-up date has another value now;
-- seen.moved = true if the zone has; seen.left = { the zone's offset before, until when } if only that has (see
-- settle_streaks). `seen`: the event or call.
-- Who unsubscribed stays so until they subscribe again: an address that comes along with an event is no consent.
-- Returns: true and what was settled (see settle_streaks), or false for a subscription without an e-mail address.
local function upsert_user(state, sent, now, plan, seen)
  local name, email = state[USER.name], state[USER.email]
  local address = email
  if sent[SENT.email] ~= nil then
    address = sent[SENT.email] or nil
  end
  if sent[SENT.subscribe] == true and address == nil then
    return false
  end
  if sent[SENT.name] ~= nil then
    state[USER.name] = sent[SENT.name] or nil
  end
  if address ~= email then
    state[USER.email] = address
  end
  if sent[SENT.subscribe] == false then
    state[USER.email], state[USER.unsubscribed] = nil, 1
  elseif sent[SENT.subscribe] == true then
    state[USER.unsubscribed] = nil
  end
  if state[USER.name] ~= name or state[USER.email] ~= email then
    seen.changed = true
  end
  if sent[SENT.deviceTokens] ~= nil then
    state[USER.deviceTokens] = sent[SENT.deviceTokens] or nil
  end
  if sent[SENT.attributes] then
    local attributes = state[USER.attributes] or {}
    state[USER.attributes] = attributes
    for no, value in pairs(sent[SENT.attributes]) do
      if attributes[no] ~= value then
        attributes[no] = value
        seen.changed = true
      end
    end
  end
  local sign_up = state[USER.signUp]
  if sent[SENT.signUpDay] and not (sign_up and sign_up[SIGN_UP.day] == sent[SENT.signUpDay]) then
    state[USER.signUp] = { sent[SENT.signUpDay], 0, now }
    seen.changed = true
  end
  local settlements
  if sent[SENT.zone] ~= nil and (sent[SENT.zone] or nil) ~= state[USER.zone] then
    -- Who is seen for the first time, and is there already, comes from nowhere.
    if state[USER.createdMs] ~= now or state[streak_at[FREQUENCY.daily] + STREAK.currentPeriod] ~= -1 then
      local left = { state[USER.offsetSeconds] or 0, state[USER.offsetUntilMs] }
      state[USER.offsetSeconds] = sent[SENT.leftZone]
          and sent[SENT.leftZone] == state[USER.zone]
          and sent[SENT.leftOffsetSeconds]
        or state[USER.offsetSeconds]
      local before = math.floor((now + (state[USER.offsetSeconds] or 0) * 1000) / 86400000)
      local after = math.floor((now + (sent[SENT.offsetSeconds] or 0) * 1000) / 86400000)
      local row = plan.periods[before - plan.firstDay + 1]
      settlements = settle_streaks(state, plan.streak, row, left)
      -- Moving back changes nothing, but for one who acted the days that began already do not begin again.
      local latest = math.max(before, state[USER.begunDay] or before)
      if after > latest then
        shift_streaks(state, plan.periods[latest - plan.firstDay + 1], plan.periods[after - plan.firstDay + 1])
        local moved = { beside = { { FREQUENCY.none, SETTLED.moved, latest, after } } }
        settlements = add_settlements(settlements, moved)
      end
      state[USER.begunDay] = after < latest
          and state[streak_at[FREQUENCY.daily] + STREAK.currentPeriod] ~= -1
          and latest
        or nil
    end
    -- A midnight that has passed where the user is now is no past one of the user's.
    if state[USER.signUp] then
      state[USER.signUp][SIGN_UP.sinceMs] = now
    end
    state[USER.zone] = sent[SENT.zone] or nil
    seen.moved = true
  end
  if sent[SENT.zone] ~= nil or (sent[SENT.renewedZone] and sent[SENT.renewedZone] == state[USER.zone]) then
    if not seen.moved and sent[SENT.offsetSeconds] ~= state[USER.offsetSeconds] then
      seen.left = { state[USER.offsetSeconds], state[USER.offsetUntilMs] }
    end
    state[USER.offsetSeconds], state[USER.offsetUntilMs] = sent[SENT.offsetSeconds], sent[SENT.offsetUntilMs]
  end
  return true, settlements
end
