--- @include "lib/decimal_score"
--- @include "lib/leave_board"
--- @include "lib/read_user"
--- @include "lib/run_place"
--- @include "lib/write_applied"

--[[
Hides a user from leaderboards, or shows a hidden one again, in one atomic step: scores go on in the state, and who is
hidden is in no sorted set of a board. An administrator and the user hide each for themselves: shown is whom neither hides.
Done twice, it changes nothing.

KEYS: 1 outbox of the shard, 2 counters of the tenant, 3 the user, then sorted sets of boards in which the user may
      still be though the state no longer names them: of ended runs.
ARGV: 1 now (epoch ms), 2 tenant no, 3 boards (JSON: a list of boards of plans, `runs` the first days of the current
      ones, `cleared` those of runs that Redis holds no more), 4 prefix of boards, 5 prefix of points totals, 6 user id, 7 id
      of the call (32 hex), 8 who (HIDDEN_BY), 9 '1' to hide, '' not to.
Returns: a record `u`, or the refusal n (packed, src/packed/record.ts), the user's packed state, the position of the outbox
      ('' if nothing was written).
Errors: those of Redis only.
Writes: outbox, user, boards.
Cost: O(size of the user + boards × log N + KEYS × log N).
]]
local outbox, counters, user_key = KEYS[1], KEYS[2], KEYS[3]
local now, tenant_no, boards = tonumber(ARGV[1]), ARGV[2], cjson.decode(ARGV[3])
local board_prefix, points_prefix, user_id, call_id = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local who, hide = tonumber(ARGV[8]), ARGV[9] == '1'
local FIRST_PLACE = 4

local user = read_user({}, user_key, user_id)
if not user.packed then
  return { cmsgpack.pack({ [RECORD.kind] = REFUSAL.unknownUser }), '', '' }
end
local state = state_of(user)
local before = state[USER.hidden] or 0
local others = before % (2 * who) >= who and before - who or before
local after = hide and others + who or others
local record = {
  [RECORD.kind] = KIND.user,
  [RECORD.id] = call_id,
  [RECORD.userId] = user_id,
  [RECORD.atMs] = now,
  [RECORD.day] = math.floor((now + (state[USER.offsetSeconds] or 0) * 1000) / 86400000),
}
if after == before then
  return { cmsgpack.pack(record), user.packed, '' }
end

local function contains(list, value)
  for _, each in ipairs(list) do
    if each == value then
      return true
    end
  end
  return false
end

-- 1. Compute: where the user is, or will be.
local changes = {}
for _, board in ipairs((before == 0) ~= (after == 0) and boards or {}) do
  local scores = state[USER.boards]
  local at = board_place(scores, board.no)
  while scores[at] == board.no do
    local run_day, group = scores[at + SCORE.runDay], scores[at + SCORE.group]
    local score = decimal_score(scores[at + SCORE.whole], scores[at + SCORE.micros])
    if score > 0 and not (board.groups and group == '') and not contains(board.cleared, run_day) then
      local previous, next_score = before == 0 and score or 0, after == 0 and score or 0
      changes[#changes + 1] = { board, run_day, group, group, previous, next_score, not contains(board.runs, run_day) }
    end
    at = at + SCORE.size
  end
end
state[USER.hidden] = after ~= 0 and after or nil
state[USER.updatedMs] = math.max(state[USER.updatedMs], now)

-- 2. Write.
local packed = pack_state(state)
local position = write_applied({ { record, changes } }, { { user_key, user_id, packed } }, {
  outbox = outbox,
  tenant_no = tenant_no,
  counters = counters,
  points_prefix = points_prefix,
  board_prefix = board_prefix,
})
if after ~= 0 then
  -- Beside the places that were just left: those of runs that the state names no more, and of boards that the caller's
  -- catalog does not have yet.
  for n = FIRST_PLACE, #KEYS do
    local run, group = string.match(string.sub(KEYS[n], #board_prefix + 1), '^(%d+:%-?%d+):(.*)$')
    leave_board(board_prefix, run, group, user_id)
  end
  local scores = state[USER.boards]
  for at = 1, #scores, SCORE.size do
    leave_board(board_prefix, scores[at] .. ':' .. scores[at + SCORE.runDay], scores[at + SCORE.group], user_id)
  end
end
return { cmsgpack.pack(record), packed, position }
