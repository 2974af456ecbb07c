--- @include "lib/board_scores"
--- @include "lib/calls"
--- @include "lib/streaks"

--[[
Replaces users' scores on a leaderboard with those computed from history, so a repeated call changes nothing. Computes first,
writes last.

The caller's sums belong to a state of the user that may be outdated. Such a user must be summed again. For users who change
every time, `exact` is off: the gain of the total since then is added to the current run, if it certainly belongs there. Late
events and reversals may belong to another run. A leaderboard of streaks takes the current lengths.

KEYS: those of every call (lib/calls), then the users.
ARGV: those of every call, with a plan of no metric with `board`, `counts` (number of its metric, for a leaderboard of a
      metric), `exact` (true: never add to the sums of another state); body: users, a list of { userId, sums (a list of
      HISTORY_SUM) }; states: the packed state to which each user's sums belong ('' for a leaderboard of streaks).
Returns: one number per user: 1 has a score now, 0 has none, -1 must be summed again (nothing was done for this user); then
      the position in the outbox ('' if nothing was written).
Errors: those of Redis only.
Writes: outbox, users, boards.
Cost: O(users × (size of a user + log N)).
]]
local call = open_call(KEYS, ARGV)
local now, plan = call.now, call.plan
local board = plan.board
local replies, moves, touched = {}, {}, {}

local function local_day(state, at)
  return math.floor((math.floor(at / 1000) + (state[USER.offsetSeconds] or 0)) / 86400)
end

local function run_on(day)
  return board.runs[day - plan.firstDay + 1]
end

-- The total from which the leaderboard's scores come: whole, micros.
local function total_of(state)
  if board.by == 'points' then
    return state[USER.points][board.system] or 0, 0
  end
  local total = state[USER.totals][plan.counts] or { 0, 0 }
  return total[TOTAL.whole], total[TOTAL.micros]
end

-- Adds what the user gained since the sums were made. Returns: false if it is uncertain which run the gain belongs to.
local function catch_up(sums, state, counted)
  if plan.exact or board.from or board.to then
    return false
  end
  local whole, micros = total_of(state)
  local then_whole, then_micros = total_of(counted)
  whole, micros = decimal_add(whole, micros, -then_whole, -then_micros)
  if whole == 0 and micros == 0 then
    return true
  end
  local run_day = run_on(local_day(state, now))
  if not run_day or run_day < 0 or run_day ~= run_on(local_day(counted, counted[USER.updatedMs])) then
    return false
  end
  for _, sum in ipairs(sums) do
    if sum[HISTORY_SUM.runDay] == run_day then
      sum[HISTORY_SUM.whole], sum[HISTORY_SUM.micros] =
        decimal_add(sum[HISTORY_SUM.whole], sum[HISTORY_SUM.micros], whole, micros)
      return true
    end
  end
  sums[#sums + 1] = { run_day, whole, micros }
  return true
end

-- Sets the scores. Returns: whether any is above 0, and the leaderboard changes.
local function set_scores(state, sums)
  local scores = state[USER.boards]
  local changes, any = {}, false
  for _, sum in ipairs(sums) do
    local group = board_group(board, state[USER.attributes]) or ''
    local run_day, whole, micros = sum[HISTORY_SUM.runDay], clamped(sum[HISTORY_SUM.whole], sum[HISTORY_SUM.micros])
    local at = score_slot(scores, board.no, run_day)
    local old_group, old_score =
      scores[at + SCORE.group], decimal_score(scores[at + SCORE.whole], scores[at + SCORE.micros])
    local score = decimal_score(whole, micros)
    any = any or score > 0 and not state[USER.hidden]
    if score ~= old_score or group ~= old_group then
      scores[at + SCORE.group], scores[at + SCORE.whole], scores[at + SCORE.micros] = group, whole, micros
      local ranked = not state[USER.hidden] and not (board.groups and group == '')
      local stood = not state[USER.hidden] and not (board.groups and old_group == '')
      changes[#changes + 1] = { board, run_day, group, old_group, stood and old_score or 0, ranked and score or 0 }
    end
  end
  return any, changes
end

for n, each in ipairs(call.body.users) do
  local user, sums = read_user({}, call.keys[n], each.userId), each.sums
  replies[n] = 0
  if user.packed then
    local state = state_of(user)
    local certain = true
    if board.by == 'streak' then
      -- Settle a copy, so that the effects are recorded when the user is really settled.
      sums[1][HISTORY_SUM.whole] = settle_user(unpack_state(user.packed), plan, now).length
    elseif user.packed ~= call.states[n] then
      certain = catch_up(sums, state, unpack_state(call.states[n]))
    end
    if certain then
      local any, changes = set_scores(state, sums)
      replies[n] = any and 1 or 0
      if #changes > 0 then
        moves[#moves + 1] = { user_id = user.id, changes = changes }
        user.packed = pack_state(state)
        touched[#touched + 1] = user
      end
    else
      replies[n] = -1
    end
  end
end

for _, move in ipairs(moves) do
  for _, change in ipairs(move.changes) do
    local key = call.board_prefix .. board.no .. ':' .. change[CHANGE.runDay] .. ':' .. change[CHANGE.group]
    move_on_board(change, move.user_id, call.board_prefix, key)
  end
end
replies[#replies + 1] = #touched > 0 and write_users(call, {}, touched) or ''
return replies
