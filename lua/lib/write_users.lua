-- Writes users' states, and appends them with the records of what happened to the outbox.
-- `touched`: a list of { key, id, packed state }. Returns: the position in the outbox.
local function write_users(outbox, tenant_no, records, touched)
  local entry = { 't', tenant_no, 'r', table.concat(records) }
  for _, user in ipairs(touched) do
    local key, id, packed = unpack(user)
    redis.call('SET', key, packed)
    entry[#entry + 1] = 'u'
    entry[#entry + 1] = id
    entry[#entry + 1] = 's'
    entry[#entry + 1] = packed
  end
  return redis.call('XADD', outbox, '*', unpack(entry))
end
