--- @include "lib/put_score"
--- @include "lib/calls"
--- @include "lib/compensate"
--- @include "lib/quests"
--- @include "lib/streaks"

--[[
Applies what a recomputation planned for some users, or reverts what it did: completions of achievements, points and leaderboards of
points; if leaderboards are recomputed, also scores in runs that are not final. A user's state stores the last step applied, so a
repeated step changes nothing. Computes first, writes last.

KEYS: those of every call (lib/calls), then the users.
ARGV: those of every call, with a plan of no metric with `limits`, the maximum points by system number, and, if leaderboards are
      recomputed, `scored` (see recompute_scores); body: step (a number above those of all earlier steps), job (32 hex), reverts
      (revert what the job did), users, a list of { userId, id (of the record, 32 hex), planned (the user's changes, `PlannedUser` of
      src/engine/recomputations/planned-user.ts) }.
Returns: RECOMPUTED per user; then the position in the outbox ('' if nothing was written).
Errors: those of Redis only.
Writes: outbox, users, counters, points totals, boards.
Cost: O(users × (size of a user + what is planned) + boards × log N).
]]
-- The planned points that must be moved now: without those for achievements that did not change, and limited to each system's
-- maximum. `planned`: awards, a list of { award (COMPENSATED), achievement (a number, or nil) }; keeps: lower no total.
-- `changed`: the achievements that changed, { [number] = true }. `limits`: maximum by system number, as text.
-- Returns: a list of COMPENSATED.
local function due_points(state, planned, changed, limits)
  local systems, of_system = {}, {}
  for _, each in ipairs(planned.awards) do
    if not each.achievement or changed[each.achievement] then
      local no = each.award[COMPENSATED.system]
      local list = of_system[no]
      if not list then
        list = { no = no, given = 0 }
        of_system[no], systems[#systems + 1] = list, list
      end
      list[#list + 1] = each.award
      list.given = list.given - each.award[COMPENSATED.points]
    end
  end
  local due = {}
  for _, list in ipairs(systems) do
    local total = state[USER.points][list.no] or 0
    local most = math.max(total, limits[tostring(list.no)] or LIMIT.sum - 1)
    local excess = total + list.given - most
    for _, award in ipairs(list) do
      local points = award[COMPENSATED.points]
      local cut = points < 0 and math.max(0, math.min(excess, -points)) or 0
      excess = excess - cut
      if points + cut ~= 0 and not (planned.keeps and list.given < 0) then
        due[#due + 1] =
          { award[COMPENSATED.award], list.no, award[COMPENSATED.trigger], points + cut, award[COMPENSATED.day] }
      end
    end
  end
  return due
end

-- Completes, restores and revokes periods of repeating achievements as planned: see recompute_completions, whose result this
-- extends. `note`: adds to a list of it.
local function recompute_quests(state, planned, now, done, note)
  local function is_done(no, period, wanted)
    local kept = quests.find(state, no, period)
    return kept and kept[QUEST_PERIOD.done] == wanted, kept
  end
  for _, each in ipairs(planned.periods or {}) do
    local no, period = each.no, each.period
    local known, kept = is_done(no, period, 1)
    if known then
      note(done.skipped, no, no)
    else
      quests.complete(state, no, kept, now)
      note(done.completed, no, no)
      local sum = kept or { period, 0, 0 }
      local times = quests.of(state, no)[QUEST.times]
      done.quests = done.quests or {}
      done.quests[#done.quests + 1] = { no, period, times, sum[QUEST_PERIOD.whole], sum[QUEST_PERIOD.micros], 1 }
    end
  end
  for _, each in ipairs(planned.restore) do
    local no, period = each[COMPLETED.achievement], each[COMPLETED.period]
    local known, kept = is_done(no, period, 1)
    if period and known then
      note(done.skipped, no, no)
    elseif period then
      done.first[no] = quests.complete(state, no, kept, each[COMPLETED.atMs]) or done.first[no]
      note(done.restored, no, each)
    end
  end
  for _, each in ipairs(planned.revoke) do
    local no, period = each[COMPLETED.achievement], each[COMPLETED.period]
    if period and is_done(no, period, 0) then
      note(done.skipped, no, no)
    elseif period then
      done.last[no] = quests.revoke(state, each, planned.latest and planned.latest[tostring(no)])
      note(done.revoked, no, each)
    end
  end
end

-- Completes, restores and revokes a user's achievements as planned. Skips an achievement that is no longer as the plan assumed.
-- `planned`: complete (a list of numbers), periods (of repeating achievements to complete, a list of { no, period }; or nil), restore
-- and revoke (lists of COMPLETED; restoring sets exactly that completion, revoking removes only that one), latest (number as text →
-- time of the latest completion that is not revoked).
-- Writes: the state's completions and quests. Returns: completed (numbers), restored and revoked (lists of COMPLETED), skipped
-- (numbers), changed { [number] = true }, quests (a list of RECORDED_QUEST, or nil), first and last { [number of a repeating
-- achievement] = whether the user's first completion was restored, or the last one revoked }.
local function recompute_completions(state, planned, now)
  local completions = state[USER.completions]
  local done = { completed = {}, restored = {}, revoked = {}, skipped = {}, changed = {}, first = {}, last = {} }
  local function note(list, no, item)
    list[#list + 1] = item
    if list ~= done.skipped then
      done.changed[no] = true
    end
  end
  for _, no in ipairs(planned.complete) do
    if completions[no] then
      note(done.skipped, no, no)
    else
      completions[no] = now
      note(done.completed, no, no)
    end
  end
  recompute_quests(state, planned, now, done, note)
  for _, each in ipairs(planned.restore) do
    local no = each[COMPLETED.achievement]
    if each[COMPLETED.period] then
      -- Done above.
    elseif completions[no] then
      note(done.skipped, no, no)
    else
      completions[no] = each[COMPLETED.atMs]
      note(done.restored, no, each)
    end
  end
  for _, each in ipairs(planned.revoke) do
    local no = each[COMPLETED.achievement]
    if each[COMPLETED.period] then
      -- Done above.
    elseif completions[no] ~= each[COMPLETED.atMs] then
      note(done.skipped, no, no)
    else
      completions[no] = nil
      note(done.revoked, no, each)
    end
  end
  return done
end

-- Updates the counters of users who completed an achievement. `write_record` counts those in the record's `completed`.
local function count_completions(counters, done)
  for _, each in ipairs(done.restored) do
    if not each[COMPLETED.period] then
      done.first[each[COMPLETED.achievement]] = true
    end
  end
  for _, each in ipairs(done.revoked) do
    if not each[COMPLETED.period] then
      done.last[each[COMPLETED.achievement]] = true
    end
  end
  for no, is_first in pairs(done.first) do
    hold_count(counters, COUNTER.completions .. no, is_first and 1 or 0)
  end
  for no, is_last in pairs(done.last) do
    hold_count(counters, COUNTER.completions .. no, is_last and -1 or 0)
  end
end

-- The points of awards in a run of a leaderboard of points. `points`: a list of RECORDED_POINTS; `today`: the day of awards
-- without a day.
local function awarded_in(board, run, points, today)
  local sum = 0
  for _, each in ipairs(points) do
    if board.by == 'points' and each[RECORDED_POINTS.system] == board.system then
      for _, award in ipairs(each[RECORDED_POINTS.awards]) do
        local day = award[AWARD.day] or today
        if day >= run.first and (not run.last or day <= run.last) then
          sum = sum + award[AWARD.awarded]
        end
      end
    end
  end
  return sum
end

local function same_score(one, other)
  return one[HISTORY_SUM.whole] == other[HISTORY_SUM.whole] and one[HISTORY_SUM.micros] == other[HISTORY_SUM.micros]
end

-- Changes a user's scores in runs that are not final as a recomputation planned, and moves them to the current groups. On
-- leaderboards of points, adds the awards of the same recomputation to the runs of their days.
-- `planned`: scores, a list of { no, run, whole, micros } or, for leaderboards with a floor, { no, run, was, becomes }, both
-- HISTORY_SUMs: a score that is no longer `was` stays. `group` and `instead`: if the score is still in group `instead`, move it
-- back to `group`; keeps: lower no score.
-- `by`: boards, a list of { board, runs = a list of { first, last }, filled = the leaderboard was filled since, so its
-- scores need only the awards }; points, a list of RECORDED_POINTS; reverts: the planned scores already include the awards.
-- Writes: the state's boards. Returns: changes (see score_boards); a list of RECOMPUTED_SCORE.
local function recompute_scores(state, planned, by, outcome)
  local wanted, changes, done = {}, {}, {}
  for _, each in ipairs(planned.scores) do
    wanted[each.no .. ':' .. each.run] = each
  end
  local function recompute(of, run)
    local board, plan = of.board, wanted[of.board.no .. ':' .. run.first]
    local whole, micros = 0, 0
    if (not by.reverts or of.filled) and inside_window(board, outcome.second) then
      whole = awarded_in(board, run, by.points, outcome.day)
    end
    if plan and not of.filled then
      whole, micros = decimal_add(whole, micros, plan.whole, plan.micros)
    end
    if planned.keeps and (whole < 0 or micros < 0) then
      whole, micros = 0, 0
    end
    local scores, floor = state[USER.boards], board.floor or 0
    local at = run_place(scores, board.no, run.first)
    local is_there = is_score(scores, at, board.no, run.first)
    local held = { run.first, floor, 0, 0 }
    if is_there then
      local reached = score_times.find(state, board.no, run.first)
      held = { run.first, scores[at + SCORE.whole], scores[at + SCORE.micros], reached }
    end
    local is_planned = plan and plan.becomes and not of.filled and same_score(held, plan.was)
    local becomes = is_planned and plan.becomes or held
    local is_moved = whole ~= 0 or micros ~= 0 or becomes ~= held
    if not is_there and not is_moved or not (plan or whole ~= 0) then
      return
    end
    local old_group = is_there and scores[at + SCORE.group] or ''
    local group = board_group(board, state[USER.attributes]) or ''
    if plan and plan.group then
      group = old_group == plan.instead and plan.group or old_group
    end
    if not is_moved and group == old_group then
      return
    end
    local new_whole, new_micros = becomes[HISTORY_SUM.whole], becomes[HISTORY_SUM.micros]
    if new_whole ~= board.floor then
      new_whole, new_micros = clamped(decimal_add(new_whole, new_micros, whole, micros))
    end
    local reached = becomes[HISTORY_SUM.reached]
    local old_score, score, _, old_reached, new_reached =
      put_score(state, board, run.first, group, new_whole, new_micros, reached)
    done[#done + 1] = { board.no, run.first, whole, micros, old_group, group }
    if board.floor then
      done[#done][RECOMPUTED_SCORE.was], done[#done][RECOMPUTED_SCORE.is] = held, becomes
    end
    local at_ms, team_moves = outcome.applied_ms, nil
    if board.team and at_ms then
      team_moves = teams.correct(state, board, run.first, whole, micros, at_ms)
    elseif board.team then
      team_moves = teams.credit(state, board, run.first, whole, micros, outcome.now)
    end
    -- A user who is hidden, or lacks a value of the breakdown, keeps the score but has no place.
    local stood = not state[USER.hidden] and not (board.groups and old_group == '')
    local stands = not state[USER.hidden] and not (board.groups and group == '')
    if stood or stands then
      local change = { board, run.first, group, old_group, stood and old_score or floor, stands and score or floor }
      change[CHANGE.teams] = not state[USER.hidden] and team_moves or nil
      change[CHANGE.oldReached], change[CHANGE.reached] = old_reached, new_reached
      changes[#changes + 1] = change
    end
  end
  for _, of in ipairs(by.boards) do
    for _, run in ipairs(of.runs) do
      recompute(of, run)
    end
  end
  return changes, done
end

local call = open_call(KEYS, ARGV)
local plan, now = call.plan, call.now
local step, job, reverts = call.body.step, call.body.job, call.body.reverts
local replies, applied, touched = {}, {}, {}

-- The moved points as ledgers, for score_boards.
local function ledgers_of(changed)
  local ledgers = {}
  for n, points in ipairs(changed) do
    local before, after = points[RECORDED_POINTS.before], points[RECORDED_POINTS.after]
    ledgers[n] = { system = { no = points[RECORDED_POINTS.system] }, before = before, total = after }
  end
  return ledgers
end

-- Applies the plan to a user in memory. Returns: the record without its ID and the leaderboard changes; nil if nothing
-- remains to be done.
local function recompute(user, planned)
  local state = state_of(user)
  local outcome = settle_user(state, plan, now)
  outcome.applied_ms = planned.appliedMs
  local done = recompute_completions(state, planned, now)
  -- When reverting, earlier totals may exceed the current maximum.
  local due = due_points(state, planned, done.changed, reverts and {} or plan.limits)
  local moved, shortfalls = compensate(state, due, {})
  local changes, scores, ledgers = {}, nil, {}
  if plan.scored then
    local by = { boards = plan.scored, points = moved, reverts = reverts }
    changes, scores = recompute_scores(state, planned, by, outcome)
  else
    ledgers = ledgers_of(moved)
  end
  if #done.completed + #done.revoked + #done.restored + #due + (scores and #scores or 0) == 0 then
    return nil
  end
  for _, change in ipairs(score_call(plan, state, ledgers, outcome)) do
    changes[#changes + 1] = change
  end
  local points = {}
  for _, each in ipairs(moved) do
    if #each[RECORDED_POINTS.awards] > 0 then
      points[#points + 1] = each
    end
  end
  state[USER.recomputed] = step
  local record = user_record(#done.completed > 0 and KIND.completion or KIND.user, user, now, outcome)
  record[RECORD.completed] = #done.completed > 0 and done.completed or nil
  record[RECORD.quests] = done.quests
  record[RECORD.points] = #points > 0 and points or nil
  record[RECORD.version] = plan.version
  record[RECORD.recomputation] =
    { job, reverts and 1 or 0, done.revoked, done.restored, due, shortfalls, done.skipped, scores }
  return record, changes, done
end

for n, each in ipairs(call.body.users) do
  local planned = each.planned
  local user = read_user({}, call.keys[n], each.userId)
  local state = user.packed and state_of(user)
  if not state or state[USER.createdMs] ~= planned.created then
    replies[n] = RECOMPUTED.gone
  elseif (state[USER.recomputed] or 0) >= step then
    replies[n] = RECOMPUTED.done
  elseif planned.corrections and planned.corrections ~= (state[USER.corrections] or 0) then
    replies[n] = RECOMPUTED.corrected
  else
    local record, changes, done = recompute(user, planned)
    local packed = record and pack_state(user.state)
    if not record then
      replies[n] = RECOMPUTED.nothing
    elseif not has_room(packed, user.packed) then
      replies[n] = RECOMPUTED.large
    else
      replies[n] = RECOMPUTED.changed
      record[RECORD.id] = each.id
      count_completions(call.counters, done)
      applied[#applied + 1] = { record, changes }
      user.packed = packed
      touched[#touched + 1] = user
    end
  end
end
replies[#replies + 1] = write_applied(call, applied, touched)
return replies
