--- @include "lib/leave_board"

--[[
Deletes a user, in one atomic step: state, places on boards and in points sets, the tenant's counts; the outbox is told,
so that Postgres deletes what it holds after what came before and before what comes after. Used idempotency keys stay
where they are and count as unused: whoever comes after under the same ID is of a younger generation (lib/generation),
and the persister removes them. Done twice, it changes nothing.

KEYS: 1 outbox of the shard, 2 counters of the tenant, 3 the user, then sorted sets of boards in which the user may
      stand though the state does not name them any more: of runs that are over.
ARGV: 1 now (epoch ms), 2 tenant no, 3 prefix of boards, 4 prefix of points sets, 5 user id, 6 id of the deletion
      (32 hex).
Returns: the record `g`, or `n` if there was no such user (packed, src/redis/record.ts), the position of the outbox.
Errors: those of Redis only.
Writes: outbox, counters, user, boards, points sets.
Cost: O(size of the user + KEYS × log N).
]]
local outbox, counters, user_key = KEYS[1], KEYS[2], KEYS[3]
local now, tenant_no, board_prefix, points_prefix = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local user_id, deletion_id = ARGV[5], ARGV[6]

local packed = redis.call('GET', user_key)
local state = packed and cmsgpack.unpack(packed) or {}

-- 1. Find.
local places = {}
for i = 4, #KEYS do
  places[KEYS[i]] = true
end
for no in pairs(state.p or {}) do
  places[points_prefix .. no] = true
end
for no, scores in pairs(state.b or {}) do
  for at = 1, #scores, 4 do
    places[board_prefix .. no .. ':' .. scores[at] .. ':' .. scores[at + 1]] = true
  end
end
local generation = math.max(tonumber(redis.call('HGET', counters, 'd')) or 0, state.g or 0)
local record = cmsgpack.pack({ k = 'g', i = deletion_id, u = user_id, at = now, g = state.g })

-- 2. Write.
for key in pairs(places) do
  local is_board = string.sub(key, 1, #board_prefix) == board_prefix
  local run, group = string.match(is_board and string.sub(key, #board_prefix + 1) or '', '^(%d+:%-?%d+):(.*)$')
  if run then
    leave_board(board_prefix, run, group, user_id)
  else
    redis.call('ZREM', key, user_id)
  end
end
if packed then
  redis.call('DEL', user_key)
  redis.call('HINCRBY', counters, 'users', -1)
  for no in pairs(state.t or {}) do
    redis.call('HINCRBY', counters, 'a' .. no, -1)
  end
  redis.call('HSET', counters, 'd', generation + 1)
end
local position = redis.call('XADD', outbox, '*', 't', tenant_no, 'r', record)
return { packed and record or cmsgpack.pack({ k = 'n' }), position }
