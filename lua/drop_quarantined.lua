--- @include "lib/calls"
--- @include "lib/quarantine"

--[[
Drops events of a tenant from quarantine, in one atomic step: they are not applied, and the outbox records it. Done twice,
it changes nothing.

KEYS: those of every call (lib/calls).
ARGV: those of every call; body: events, a list of { userId, id (32 hex) }.
Returns: an event the record `guarded`, or the refusal notQuarantined (packed, src/packed/record.ts); then the position of the
      outbox ('' if nothing was written).
Errors: those of Redis only.
Writes: outbox, quarantine.
Cost: O(events × events of the user that wait).
]]
local call = open_call(KEYS, ARGV)
local replies, records = {}, {}
for n, event in ipairs(call.body.events) do
  local own = in_quarantine(call.board_prefix, event.userId)
  if is_quarantined(own, event.id) then
    take_from_quarantine(own, event.id)
    replies[n] = cmsgpack.pack({
      [RECORD.kind] = KIND.guarded,
      [RECORD.id] = event.id,
      [RECORD.userId] = event.userId,
      [RECORD.atMs] = call.now,
      [RECORD.guard] = { 0, GUARD_ACTION.dropped },
    })
    records[#records + 1] = replies[n]
  else
    replies[n] = cmsgpack.pack({ [RECORD.kind] = REFUSAL.notQuarantined })
  end
end
write_quarantine()
replies[#replies + 1] = #records > 0 and write_users(call, records, {}) or ''
return replies
