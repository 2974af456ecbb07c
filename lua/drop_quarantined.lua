--- @include "lib/quarantine"

--[[
Drops events of a tenant from quarantine, in one atomic step: they are not applied, and the outbox records it. Done twice,
it changes nothing.

KEYS: 1 outbox of the shard, 2 counters of the tenant.
ARGV: 1 now (epoch ms), 2 tenant no, 3 prefix of boards, then an event: user id, event id (32 hex).
Returns: an event the record `a`, or the refusal y if it does not wait (packed, src/packed/record.ts); then the position of the
      outbox ('' if nothing was written).
Errors: those of Redis only.
Writes: outbox, quarantine.
Cost: O(events × events of the user that wait).
]]
local outbox = KEYS[1]
local now, tenant_no, board_prefix = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local FIRST_EVENT = 4

local replies, records = {}, {}
for at = FIRST_EVENT, #ARGV, 2 do
  local user_id, event_id = ARGV[at], ARGV[at + 1]
  local own = in_quarantine(board_prefix, user_id)
  if is_quarantined(own, event_id) then
    take_from_quarantine(own, event_id)
    records[#records + 1] = cmsgpack.pack({
      [RECORD.kind] = KIND.guarded,
      [RECORD.id] = event_id,
      [RECORD.userId] = user_id,
      [RECORD.atMs] = now,
      [RECORD.guard] = { 0, GUARD_ACTION.dropped },
    })
    replies[#replies + 1] = records[#records]
  else
    replies[#replies + 1] = cmsgpack.pack({ [RECORD.kind] = REFUSAL.notQuarantined })
  end
end
write_quarantine()
replies[#replies + 1] = #records > 0
    and redis.call('XADD', outbox, '*', OUTBOX.tenant, tenant_no, OUTBOX.records, table.concat(records))
  or ''
return replies
