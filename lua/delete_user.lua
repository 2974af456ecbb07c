--- @include "lib/quarantine"
--- @include "lib/user_call"

--[[
Deletes a user, in one atomic step: state, leaderboard places, the tenant's counts and points totals, quarantined events. The
outbox records it, so Postgres deletes its rows in the right order. Used idempotency keys stay but count as unused, because a
later user with the same ID has a newer generation (lib/users); the persister removes them. A repeated call changes nothing.

KEYS: those of a call about one user (lib/user_call), then sorted sets of ended runs in which the user may still be although
      the state no longer names them.
ARGV: those of such a call; body: userId, id.
Returns: the record `deletion`, or a refusal unknownUser, maybeStored (packed, src/packed/record.ts); ''; the position in the
      outbox.
Errors: those of Redis only.
Writes: outbox, counters, user, boards, points totals, quarantine.
Cost: O(size of the user + KEYS × log N).
]]
local call, reply = open_user_call(KEYS, ARGV, true)
if reply then
  return reply
end
local user, counters, board_prefix = call.user, call.counters, call.board_prefix
local state = user.packed and state_of(user) or {}

-- 1. Find.
local left = {}
for _, key in ipairs(call.keys) do
  left[key] = true
end
local scores = state[USER.boards] or {}
for at = 1, #scores, SCORE.size do
  local run = scores[at] .. ':' .. scores[at + SCORE.runDay]
  left[board_prefix .. run .. ':' .. scores[at + SCORE.group]] = true
end
local stays, team_moves = state[USER.teams] or {}, {}
for at = 1, #stays, STAY.size do
  local no, run_day = stays[at], stays[at + STAY.runDay]
  local key = teams.key(board_prefix, no, run_day)
  -- The hash of a cleared run must not return.
  if not team_moves[key] and not state[USER.hidden] and redis.call('EXISTS', key) == 1 then
    team_moves[key] = { no, run_day, teams.all(state, no, run_day, -1) or {} }
  end
end
local generation =
  math.max(tonumber(redis.call('HGET', counters, COUNTER.generation)) or 0, state[USER.generation] or 0)
local record = cmsgpack.pack({
  [RECORD.kind] = KIND.deletion,
  [RECORD.id] = call.body.id,
  [RECORD.userId] = user.id,
  [RECORD.atMs] = call.now,
  [RECORD.generation] = state[USER.generation],
})

-- 2. Write.
for key in pairs(left) do
  leave_set(board_prefix, key, user.id, state)
end
if user.packed then
  redis.call('DEL', user.key)
  redis.call('HINCRBY', counters, COUNTER.users, -1)
  for no in pairs(state[USER.completions] or {}) do
    redis.call('HINCRBY', counters, COUNTER.completions .. no, -1)
  end
  redis.call('HSET', counters, COUNTER.generation, generation + 1)
  for no, total in pairs(state[USER.points] or {}) do
    hold_total(call.points_prefix .. no, total, 0)
  end
  for _, of_run in pairs(team_moves) do
    teams.hold(board_prefix, unpack(of_run))
  end
end
drop_all_quarantined(board_prefix, user.id)
local position = write_users(call, { record }, {})
return { user.packed and record or cmsgpack.pack({ [RECORD.kind] = REFUSAL.unknownUser }), '', position }
