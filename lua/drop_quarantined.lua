--- @include "lib/calls"
--- @include "lib/quarantine"

--[[
Drops quarantined events of a tenant without applying them, in one atomic step. The outbox records it. A repeated call
changes nothing.

KEYS: those of every call (lib/calls).
ARGV: those of every call; body: events, a list of { userId, id (32 hex) }.
Returns: per event the record `guarded`, or the refusal notQuarantined (packed, src/packed/record.ts); then the position in
      the outbox ('' if nothing was written).
Errors: those of Redis only.
Writes: outbox, quarantine.
Cost: O(events × quarantined events of the user).
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
