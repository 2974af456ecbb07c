--- @include "held_writes"

-- Writes users' states and what is held back, and appends the states with the records of what happened to the outbox.
-- `touched`: a list of { key, id, packed state }. Returns: the position in the outbox.
local function write_users(outbox, tenant_no, records, touched)
  local entry, states = { OUTBOX.tenant, tenant_no, OUTBOX.records, table.concat(records) }, {}
  for i = 1, #touched do
    local user = touched[i]
    local at, packed = i * 4, user[TOUCHED.packed]
    states[i * 2 - 1], states[i * 2] = user[TOUCHED.key], packed
    entry[at + 1], entry[at + 2], entry[at + 3], entry[at + 4] = OUTBOX.user, user[TOUCHED.id], OUTBOX.state, packed
  end
  if #states > 0 then
    redis.call('MSET', unpack(states))
  end
  write_all_held()
  return redis.call('XADD', outbox, '*', unpack(entry))
end
