--- @include "write_record"
--- @include "write_users"

-- Writes records with their changes on boards (`applied`, a list of APPLIED) and the users that they touched (a list of
-- TOUCHED), as one entry of the outbox. `to`: outbox, tenant_no, counters, points_prefix, board_prefix.
-- Returns: the position in the outbox; '' and nothing written where nothing was applied.
local function write_applied(applied, touched, to)
  if #applied == 0 then
    return ''
  end
  local records = {}
  for n, each in ipairs(applied) do
    records[n] =
      write_record(each[APPLIED.record], each[APPLIED.changes], to.counters, to.points_prefix, to.board_prefix)
  end
  return write_users(to.outbox, to.tenant_no, records, touched)
end
