--- @include "lib/generation"
--- @include "lib/held_writes"
--- @include "lib/state_room"
--- @include "lib/write_users"
--- @include "lib/packed_state"

--[[
Takes over a user from elsewhere, in one atomic step: the state, the places on boards, the tenant's counts and points totals, and
the history for Postgres in the outbox. Only an ID that nobody has is taken. Done twice, it changes nothing.

KEYS: 1 outbox of the shard, 2 counters of the tenant, 3 the user, then the sorted sets that the user enters and the sets
      of groups that these are listed in.
ARGV: 1 tenant no, 2 user id, 3 name of the import, 4 record `i` (packed), 5 state without generation (packed), 6 fields of
      the counters that count the user (JSON list), 7 prefix of points totals, then for each of the KEYS from 4 on the score
      and ''; of a set of groups '' and the group.
Returns: a map with the kind `i`, or a refusal t, ex, f, g (packed), the position of the outbox ('' if nothing was written).
Errors: those of Redis only.
Writes: outbox, user, counters, points totals, boards.
Cost: O(size of the user + KEYS × log N).
]]
local outbox, counters, user_key = KEYS[1], KEYS[2], KEYS[3]
local tenant_no, user_id, import, record = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local fields, points_prefix = cjson.decode(ARGV[6]), ARGV[7]
local FIRST_SET, BEFORE_SETS = 4, 7

local function reply(kind, position)
  return { cmsgpack.pack({ [RECORD.kind] = kind }), position }
end

local present = redis.call('GET', user_key)
if present then
  local by = unpack_state(present)[USER.importedBy]
  return reply(by == import and REFUSAL.alreadyImported or REFUSAL.userExists, '')
end
local state = unpack_state(ARGV[5])
state[USER.importedBy] = import
state[USER.generation] = generation_of_new_users(counters)
local packed = pack_state(state)
local full = lack_of_room(state, packed)
if full then
  return reply(full, '')
end

for _, field in ipairs(fields) do
  hold_count(counters, field)
end
for system_no, total in pairs(state[USER.points] or {}) do
  hold_total(points_prefix .. system_no, 0, total)
end
for at = FIRST_SET, #KEYS do
  local arg = BEFORE_SETS + (at - FIRST_SET) * 2 + 1
  if ARGV[arg] ~= '' then
    hold_score(KEYS[at], ARGV[arg], user_id)
  else
    redis.call('SADD', KEYS[at], ARGV[arg + 1])
  end
end
return reply(KIND.imported, write_users(outbox, tenant_no, { record }, { { user_key, user_id, packed } }))
