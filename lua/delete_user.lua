--- @include "lib/held_writes"
--- @include "lib/leave_board"
--- @include "lib/quarantine"
--- @include "lib/packed_state"

--[[
Deletes a user, in one atomic step: state, places on boards, the tenant's counts and points totals, events in quarantine; the outbox records it,
so that Postgres deletes what it holds after what came before and before what comes after. Used idempotency keys stay
where they are and count as unused: a later user under the same ID is of a younger generation (lib/generation),
and the persister removes them. Done twice, it changes nothing.

KEYS: 1 outbox of the shard, 2 counters of the tenant, 3 the user, then sorted sets of boards in which the user may
      still be though the state no longer names them: of ended runs.
ARGV: 1 now (epoch ms), 2 tenant no, 3 prefix of boards, 4 prefix of points totals, 5 user id, 6 id of the deletion
      (32 hex).
Returns: the record `g`, or `n` if there was no such user (packed, src/packed/record.ts), the position of the outbox.
Errors: those of Redis only.
Writes: outbox, counters, user, boards, points totals, quarantine.
Cost: O(size of the user + KEYS × log N).
]]
local outbox, counters, user_key = KEYS[1], KEYS[2], KEYS[3]
local now, tenant_no, board_prefix, points_prefix = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local user_id, deletion_id = ARGV[5], ARGV[6]
local FIRST_PLACE = 4

local packed = redis.call('GET', user_key)
local state = packed and unpack_state(packed) or {}

-- 1. Find.
local places = {}
for i = FIRST_PLACE, #KEYS do
  places[KEYS[i]] = true
end
local scores = state[USER.boards] or {}
for at = 1, #scores, SCORE.size do
  local run = scores[at] .. ':' .. scores[at + SCORE.runDay]
  places[board_prefix .. run .. ':' .. scores[at + SCORE.group]] = true
end
local generation =
  math.max(tonumber(redis.call('HGET', counters, COUNTER.generation)) or 0, state[USER.generation] or 0)
local record = cmsgpack.pack({
  [RECORD.kind] = KIND.deletion,
  [RECORD.id] = deletion_id,
  [RECORD.userId] = user_id,
  [RECORD.atMs] = now,
  [RECORD.generation] = state[USER.generation],
})

-- 2. Write.
for key in pairs(places) do
  local run, group = string.match(string.sub(key, #board_prefix + 1), '^(%d+:%-?%d+):(.*)$')
  leave_board(board_prefix, run, group, user_id)
end
if packed then
  redis.call('DEL', user_key)
  redis.call('HINCRBY', counters, COUNTER.users, -1)
  for no in pairs(state[USER.completions] or {}) do
    redis.call('HINCRBY', counters, COUNTER.completions .. no, -1)
  end
  redis.call('HSET', counters, COUNTER.generation, generation + 1)
  for no, total in pairs(state[USER.points] or {}) do
    hold_total(points_prefix .. no, total, 0)
  end
  write_all_held()
end
drop_all_quarantined(board_prefix, user_id)
local position = redis.call('XADD', outbox, '*', OUTBOX.tenant, tenant_no, OUTBOX.records, record)
return { packed and record or cmsgpack.pack({ [RECORD.kind] = REFUSAL.unknownUser }), position }
