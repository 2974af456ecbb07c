--- @include "remembered"
--- @include "streaks"

-- A change of time zone that moves the user's current day forward ends no streak and does not count one day as two. The
-- current day becomes the new day, with its progress and its distance to the last met day. From a week or month that is
-- left, only what the streak needs to survive is kept: a week met before the journey does not count as the next one met.
-- Same rule as src/domain/streaks/streak-machine.ts.
-- `state`: its streaks are settled in the old zone. `before` and `after`: rows of the plan's periods (ROW).
local function shift_streaks(state, before, after)
  for frequency = FREQUENCY.daily, FREQUENCY.monthly do
    local streak = streak_at[frequency]
    local moved = after[frequency] - before[frequency]
    if moved > 0 then
      if state[streak + STREAK.length] > 0 then
        local kept = frequency == FREQUENCY.daily
            and math.min(state[streak + STREAK.lastPeriod] + moved, after[ROW.day])
          or after[frequency] - 1
        state[streak + STREAK.lastPeriod] = math.max(state[streak + STREAK.lastPeriod], kept)
      end
      if frequency == FREQUENCY.daily and state[streak + STREAK.currentPeriod] == before[ROW.day] then
        state[streak + STREAK.currentPeriod] = after[ROW.day]
      end
    end
  end
end

-- Applies the fields of a request to a user's state: sent fields replace, others stay, `false` clears. A new zone first settles the
-- streaks in the previous one. A user who unsubscribed stays unsubscribed until an explicit subscription, because an address
-- sent along with an event is not consent.
-- `sent`: SENT, see sent_of. `seen`: the event or call.
-- Writes: seen.changed = true if name, email address, an attribute or the sign-up date changed; seen.moved = true if the zone
-- changed; seen.left = { the zone's previous offset, its end } if only the offset changed (see settle_streaks).
-- Returns: true and the settlements (see settle_streaks), or false for a subscription without an email address.
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
    -- A user who is created in this zone leaves no other.
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
      -- Moving back changes nothing, but days that had already begun for an active user do not begin again.
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
    -- A midnight that has passed in the new zone is not one of the user's past midnights.
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

local function day_with(state, sent, now)
  local offset = state[USER.offsetSeconds]
  if sent[SENT.zone] ~= nil or (sent[SENT.renewedZone] and sent[SENT.renewedZone] == state[USER.zone]) then
    offset = sent[SENT.offsetSeconds]
  end
  return math.floor((now + (offset or 0) * 1000) / 86400000)
end

-- Number of a server-only field whose sent value differs from the stored one (see SENT.serverOnly), or nil.
local function changed_server_only(state, sent)
  local attributes, sign_up = state[USER.attributes], state[USER.signUp]
  for _, no in ipairs(sent[SENT.serverOnly]) do
    if no == 0 then
      if not sign_up or sign_up[SIGN_UP.day] ~= sent[SENT.signUpDay] then
        return no
      end
    elseif not attributes or attributes[no] ~= sent[SENT.attributes][no] then
      return no
    end
  end
  return nil
end

-- The first step of every event and call about a user: makes sure that the stored zone's offset is valid at this time, then
-- applies the sent fields (nil for none). `seen`: see upsert_user.
-- Returns: a refusal (unknownOffset, serverOnly, futureSignUp or noAddress) that leaves the state unchanged, or nil and the
-- settlements of a change of zone.
local function admit_user(state, sent, now, plan, seen)
  local renewed = sent
    and (
      sent[SENT.zone] == state[USER.zone]
      or sent[SENT.renewedZone] == state[USER.zone]
      or sent[SENT.leftZone] == state[USER.zone]
    )
  if state[USER.offsetUntilMs] and state[USER.offsetUntilMs] <= now and not renewed then
    return { [RECORD.kind] = REFUSAL.unknownOffset, [UNKNOWN_OFFSET.zone] = state[USER.zone] }
  end
  if not sent then
    return nil
  end
  local server_only = sent[SENT.serverOnly] and changed_server_only(state, sent)
  if server_only then
    return { [RECORD.kind] = REFUSAL.serverOnly, [SERVER_ONLY.no] = server_only }
  end
  if sent[SENT.signUpDay] and sent[SENT.signUpDay] > day_with(state, sent, now) then
    return { [RECORD.kind] = REFUSAL.futureSignUp }
  end
  local accepted, settlements = upsert_user(state, sent, now, plan, seen)
  if not accepted then
    return { [RECORD.kind] = REFUSAL.noAddress }
  end
  return nil, settlements
end
