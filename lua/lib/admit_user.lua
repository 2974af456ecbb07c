--- @include "upsert_user"

-- The local day of a user with what is sent of the zone.
local function day_with(state, sent, now)
  local offset = state[USER.offsetSeconds]
  if sent[SENT.zone] ~= nil or (sent[SENT.renewedZone] and sent[SENT.renewedZone] == state[USER.zone]) then
    offset = sent[SENT.offsetSeconds]
  end
  return math.floor((now + (offset or 0) * 1000) / 86400000)
end

-- Whether what is sent of a field that only servers may write differs from what is stored: its number (see SENT.serverOnly), or nil.
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

-- The first step of whatever concerns a user: the stored zone's offset must hold for this time, then the sent
-- fields (see upsert_user; nil for none) are laid over the state. `seen`: see upsert_user.
-- Returns: a refusal (`z`, `sv`, `h` or `m`) that leaves the state as it was, or nil and what a change of the zone settled.
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
