--- @include "lib/user_call"

--[[
Hides a user from leaderboards or shows a hidden user again, in one atomic step. The scores stay in the state, but a hidden
user is in no sorted set of a leaderboard. An administrator and the user can each hide the user, who is shown only if neither
does. A repeated call changes nothing.

KEYS: those of a call about one user (lib/user_call), then sorted sets of ended runs in which the user may still be although
      the state no longer names them.
ARGV: those of such a call; body: userId, id, boards (of plans; `runs`: first days of the current runs, `cleared`: first days
      of runs that Redis no longer holds), by (HIDDEN_BY), hidden.
Returns: a record `user`, or a refusal unknownUser, maybeStored (packed, src/packed/record.ts); the user's packed state; the
      position in the outbox ('' if nothing was written).
Errors: those of Redis only.
Writes: outbox, user, boards.
Cost: O(size of the user + boards × log N + KEYS × log N).
]]
local call, reply = open_user_call(KEYS, ARGV)
if reply then
  return reply
end
local user, now, by = call.user, call.now, call.body.by
local state = state_of(user)
local before = state[USER.hidden] or 0
local others = before % (2 * by) >= by and before - by or before
local after = call.body.hidden and others + by or others
local outcome = { day = math.floor((now + (state[USER.offsetSeconds] or 0) * 1000) / 86400000) }
local record = user_record(KIND.user, user, now, outcome)
record[RECORD.id] = call.body.id
if after == before then
  return unwritten(record, user.packed)
end

local function contains(list, value)
  for _, each in ipairs(list) do
    if each == value then
      return true
    end
  end
  return false
end

-- 1. Compute the places that the user leaves or takes.
local changes = {}
for _, board in ipairs((before == 0) ~= (after == 0) and call.body.boards or {}) do
  local scores = state[USER.boards]
  local at = board_place(scores, board.no)
  while scores[at] == board.no do
    local run_day, group = scores[at + SCORE.runDay], scores[at + SCORE.group]
    local score, floor = decimal_score(scores[at + SCORE.whole], scores[at + SCORE.micros]), board.floor or 0
    local moves = board.team and teams.all(state, board.no, run_day, after == 0 and 1 or -1)
    local is_ranked = score > floor and not (board.groups and group == '')
    if (is_ranked or moves) and not contains(board.cleared, run_day) then
      local previous = before == 0 and is_ranked and score or floor
      local next_score = after == 0 and is_ranked and score or floor
      local is_over = not contains(board.runs, run_day)
      local reached = board.ties and score_times.find(state, board.no, run_day) or nil
      changes[#changes + 1] =
        { board, run_day, group, group, previous, next_score, is_over, moves or nil, reached, reached }
    end
    at = at + SCORE.size
  end
end
state[USER.hidden] = after ~= 0 and after or nil
state[USER.updatedMs] = math.max(state[USER.updatedMs], now)

-- 2. Write.
user.packed = pack_state(state)
local position = write_applied(call, { { record, changes } }, { user })
if after ~= 0 then
  -- Also leave runs that the state no longer names, and leaderboards that the caller's catalog does not have yet.
  for _, key in ipairs(call.keys) do
    leave_set(call.board_prefix, key, user.id, state)
  end
  local scores = state[USER.boards]
  for at = 1, #scores, SCORE.size do
    local run = scores[at] .. ':' .. scores[at + SCORE.runDay]
    leave_set(call.board_prefix, call.board_prefix .. run .. ':' .. scores[at + SCORE.group], user.id, state)
  end
end
return { cmsgpack.pack(record), user.packed, position }
