--- @include "lib/put_score"
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

-- Takes the user's score in each run if it is later or better than the one from history: it contains what happened since.
local function take_scores(sums, state)
  local scores = state[USER.boards]
  for _, sum in ipairs(sums) do
    local at = run_place(scores, board.no, sum[HISTORY_SUM.runDay])
    if is_score(scores, at, board.no, sum[HISTORY_SUM.runDay]) then
      local whole, micros = scores[at + SCORE.whole], scores[at + SCORE.micros]
      local reached = score_times.find(state, board.no, sum[HISTORY_SUM.runDay])
      local is_worse = decimal_reaches(sum[HISTORY_SUM.whole], sum[HISTORY_SUM.micros], whole, micros)
        == (board.fold == 'max')
      if board.fold == 'last' then
        is_worse = reached < (sum[HISTORY_SUM.reached] or 0)
      end
      if
        board.ties
        and board.fold ~= 'last'
        and sum[HISTORY_SUM.whole] == whole
        and sum[HISTORY_SUM.micros] == micros
      then
        sum[HISTORY_SUM.reached] = math.min(sum[HISTORY_SUM.reached], reached)
      elseif sum[HISTORY_SUM.whole] == board.floor or not is_worse then
        sum[HISTORY_SUM.whole], sum[HISTORY_SUM.micros], sum[HISTORY_SUM.reached] = whole, micros, reached
      end
    end
  end
end

-- Adds what the user gained since the sums were made. Returns: false if it is uncertain which run the gain belongs to.
local function catch_up(sums, state, counted)
  if plan.exact or board.from or board.to then
    return false
  elseif board.fold then
    take_scores(sums, state)
    return true
  end
  local whole, micros = total_of(state)
  local then_whole, then_micros = total_of(counted)
  whole, micros = decimal_add(whole, micros, -then_whole, -then_micros)
  if whole == 0 and micros == 0 then
    return true
  end
  if board.sign then
    whole, micros = 0 - whole, 0 - micros
  end
  local run_day = run_on(local_day(state, now))
  if not run_day or run_day < 0 or run_day ~= run_on(local_day(counted, counted[USER.updatedMs])) then
    return false
  end
  for _, sum in ipairs(sums) do
    if sum[HISTORY_SUM.runDay] == run_day then
      local before = sum[HISTORY_SUM.whole] == board.floor and 0 or sum[HISTORY_SUM.whole]
      sum[HISTORY_SUM.whole], sum[HISTORY_SUM.micros] = decimal_add(before, sum[HISTORY_SUM.micros], whole, micros)
      sum[HISTORY_SUM.reached] = math.max(sum[HISTORY_SUM.reached] or 0, (score_times.find(state, board.no, run_day)))
      return true
    end
  end
  sums[#sums + 1] = { run_day, whole, micros, (score_times.find(state, board.no, run_day)) }
  return true
end

-- Sets the scores. Returns: whether any is on the leaderboard, and the leaderboard changes.
local function set_scores(state, sums)
  local changes, any, floor = {}, false, board.floor or 0
  local group = board_group(board, state[USER.attributes]) or ''
  for _, sum in ipairs(sums) do
    local run_day, whole, micros = sum[HISTORY_SUM.runDay], sum[HISTORY_SUM.whole], sum[HISTORY_SUM.micros]
    if whole ~= board.floor then
      whole, micros = clamped(whole, micros)
    end
    local team_moves
    if board.team then
      -- Earlier teams are unknown: everything that is not in a stay yet was earned in the present team.
      local scores = state[USER.boards]
      local at = run_place(scores, board.no, run_day)
      local added, micros_added = whole, micros
      if is_score(scores, at, board.no, run_day) then
        added, micros_added = decimal_add(whole, micros, -scores[at + SCORE.whole], -scores[at + SCORE.micros])
      end
      team_moves = teams.credit(state, board, run_day, added, micros_added, now)
    end
    local old_score, score, old_group, old_reached, reached =
      put_score(state, board, run_day, group, whole, micros, sum[HISTORY_SUM.reached])
    any = any or score > floor and not state[USER.hidden]
    if score ~= old_score or reached ~= old_reached or group ~= old_group and whole ~= board.floor then
      local ranked = not state[USER.hidden] and not (board.groups and group == '')
      local stood = not state[USER.hidden] and not (board.groups and old_group == '')
      local change = { board, run_day, group, old_group, stood and old_score or floor, ranked and score or floor }
      change[CHANGE.teams] = not state[USER.hidden] and team_moves or nil
      change[CHANGE.oldReached], change[CHANGE.reached] = old_reached, reached
      changes[#changes + 1] = change
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
