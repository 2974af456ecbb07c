--- @include "lib/compensate"
--- @include "lib/put_score"
--- @include "lib/quests"
--- @include "lib/replay"
--- @include "lib/user_call"

--[[
Reverses an event, or a reversal, in one atomic step: total, counts, streaks, achievements, points and scores in runs that are not
final. The caller computed the changes from Postgres (src/engine/corrections/reversals.ts). Does nothing if the user has changed
since, because any event may be the one that meets a streak's period.

KEYS: those of a call about one user (lib/user_call).
ARGV: those of such a call; body: userId, id (of the opposite event), renewed (the zone's current offset), reversal (`ReversalPlan`),
      dryRun (write nothing).
Returns: a record `reversal`, or a refusal unknownUser, unknownOffset, outdated, outOfRange, tooLarge, maybeStored (packed,
      src/packed/record.ts); the user's packed state; the position in the outbox after the call ('' if it wrote nothing).
Errors: those of Redis only.
Writes: outbox, user, counters, points totals, boards.
Cost: O(size of the user + awards + boards × log N).
]]
-- Moves what a user earned for teams as `correct_scores` moves the score. Returns: a list of TEAM_MOVE.
local function correct_teams(state, move, moved_by)
  local moves, parts = {}, { { move.whole or 0, move.micros or 0, move.atMs } }
  for _, award in ipairs(move.awards or {}) do
    parts[#parts + 1] = { moved_by[award.id] or 0, 0, award.atMs }
  end
  for _, part in ipairs(parts) do
    local whole, micros, at_ms = unpack(part)
    if whole ~= 0 or micros ~= 0 then
      for _, each in ipairs(teams.correct(state, move.board, move.run, whole, micros, at_ms) or {}) do
        moves[#moves + 1] = each
      end
    end
  end
  return moves
end

-- Adds to a user's scores in runs that are not final, which need not be the current ones, or replaces them. Skips additions
-- in a run without a score of the user: it is final, or older than the runs that the state holds.
-- Takes from the team in which the user was at the time.
-- `moves`: a list of { board (a PlanBoard without runs), run (its first day), whole, micros and atMs, or awards (a list of
-- { id, atMs }), or score (a HISTORY_SUM, which replaces the score) }.
-- `moved_by`: by award ID, the change of the total; see `compensate`. Returns: a list of changes, see `score_boards`.
local function correct_scores(state, moves, moved_by)
  local changes = {}
  for _, move in ipairs(moves) do
    local board, scores = move.board, state[USER.boards]
    local whole, micros = move.whole or 0, move.micros or 0
    for _, award in ipairs(move.awards or {}) do
      whole = whole + (moved_by[award.id] or 0)
    end
    local at = run_place(scores, board.no, move.run)
    local is_there = is_score(scores, at, board.no, move.run)
    local group = is_there and scores[at + SCORE.group] or board_group(board, state[USER.attributes]) or ''
    local old_score, score, reached, old_reached, team_moves, _
    if move.score then
      whole, micros, reached =
        move.score[HISTORY_SUM.whole], move.score[HISTORY_SUM.micros], move.score[HISTORY_SUM.reached]
      old_score, score, _, old_reached, reached = put_score(state, board, move.run, group, whole, micros, reached)
    elseif is_there and (whole ~= 0 or micros ~= 0) then
      team_moves = board.team and correct_teams(state, move, moved_by)
      whole, micros = clamped(decimal_add(scores[at + SCORE.whole], scores[at + SCORE.micros], whole, micros))
      old_score, score = put_score(state, board, move.run, group, whole, micros)
    end
    -- A hidden user, or one who lacks a value of the breakdown, is not ranked.
    if
      (score ~= old_score or reached ~= old_reached and board.ties)
      and not state[USER.hidden]
      and (group ~= '' or not board.groups)
    then
      changes[#changes + 1] =
        { board, move.run, group, group, old_score, score, false, team_moves or nil, old_reached, reached }
    end
  end
  return changes
end

-- Revokes achievements, each before those that need it, with their awards. Keeps one for which the user still qualifies.
-- `reversal`: revoked, a list of { achievement, awards; period (COMPLETED) and latest (see quests.revoke) of a repeating
-- one, whose period no longer qualifies }.
-- Writes: the state's completions and quests, reversal.awards, the counters. Returns: a list of COMPLETED.
local function revoke_achievements(call, state, reversal)
  local revoked = {}
  for _, each in ipairs(reversal.revoked) do
    local no, is_last = each.achievement.no, false
    local completed = state[USER.completions][no]
    if each.period then
      is_last = quests.revoke(state, each.period, each.latest)
      revoked[#revoked + 1] = each.period
    elseif completed and not qualifies(each.achievement, state) then
      is_last = true
      revoked[#revoked + 1] = { no, completed }
      state[USER.completions][no] = nil
    else
      each.awards = {}
    end
    if is_last then
      hold_count(call.counters, COUNTER.completions .. no, -1)
    end
    for _, award in ipairs(each.awards) do
      reversal.awards[#reversal.awards + 1] = award
    end
  end
  return revoked
end

-- Restores revoked completions (COMPLETED) that the user lacks. Writes as above. Returns: those restored.
local function restore_achievements(call, state, wanted)
  local restored = {}
  for _, each in ipairs(wanted) do
    local no, period = each[COMPLETED.achievement], each[COMPLETED.period]
    local kept = period and quests.find(state, no, period)
    local is_first
    if period and not (kept and kept[QUEST_PERIOD.done] == 1) then
      is_first = quests.complete(state, no, kept, each[COMPLETED.atMs])
      restored[#restored + 1] = each
    elseif not period and not state[USER.completions][no] then
      is_first = true
      state[USER.completions][no] = each[COMPLETED.atMs]
      restored[#restored + 1] = each
    end
    if is_first then
      hold_count(call.counters, COUNTER.completions .. no)
    end
  end
  return restored
end

local call, reply = open_user_call(KEYS, ARGV)
if reply then
  return reply
end
local user, plan, now = call.user, call.plan, call.now
local reversal = call.body.reversal
if redis.sha1hex(user.packed) ~= reversal.expected then
  return unwritten({ [RECORD.kind] = REFUSAL.outdated })
end
local state = state_of(user)
local at_streak = streak_at[plan.streak.frequency]
local previous_length = state[at_streak + STREAK.length]
-- The replay includes everything settled until now. The user's current zone stays.
local replayed = take_replay(state, reversal.replayed)
local refusal, left = renew_offset(state, call.body.renewed, now)
if refusal then
  return unwritten(refusal)
end
local outcome = settle_user(state, plan, now, left)
outcome.settlements = add_settlements(replayed, outcome.settlements)

-- The value of the event to remove; when a reversal is reversed, the value of the opposite event.
local metric, whole, micros = reversal.metric, reversal.whole, reversal.micros
take_from_total(state[USER.totals], metric, whole, micros)
local total = state[USER.totals][metric] or { 0, 0 }
if leaves_range(total[TOTAL.whole], -whole, -micros) then
  return unwritten({
    [RECORD.kind] = REFUSAL.outOfRange,
    [OUT_OF_RANGE.metric] = metric,
    [OUT_OF_RANGE.sum] = SUM.total,
  })
end
for _, no in ipairs(reversal.counted) do
  take_from_total(state[USER.counts], no, whole, micros)
end

for _, each in ipairs(reversal.quests) do
  local kept = quests.find(state, each.no, each.period)
  if kept then
    kept[QUEST_PERIOD.whole], kept[QUEST_PERIOD.micros] =
      clamped(decimal_add(kept[QUEST_PERIOD.whole], kept[QUEST_PERIOD.micros], -whole, -micros))
  end
end

local revoked = revoke_achievements(call, state, reversal)
local restored = restore_achievements(call, state, reversal.restored)

local points, shortfalls, moved_by = compensate(state, reversal.awards, reversal.held, reversal.limits)
local changes = score_call(plan, state, {}, outcome)
for _, change in ipairs(correct_scores(state, reversal.boards, moved_by)) do
  changes[#changes + 1] = change
end

state[USER.corrections] = (state[USER.corrections] or 0) + 1
local record = user_record(KIND.reversal, user, now, outcome)
record[RECORD.id] = call.body.id
record[RECORD.day] = reversal.day
record[RECORD.metric] = metric
record[RECORD.value] = { -whole, -micros }
record[RECORD.total] = { total[TOTAL.whole], total[TOTAL.micros] }
record[RECORD.streak] = streak_record(state, plan.streak, false, outcome.day)
record[RECORD.points] = #points > 0 and points or nil
record[RECORD.reversal] = {
  reversal.root,
  reversal.reversed,
  reversal.voids and 1 or 0,
  reversal.awards,
  revoked,
  restored,
  shortfalls,
  outcome.length == 0 and previous_length > 0 and previous_length or nil,
}
occurred_record(record, {
  at = reversal.occurredMs,
  day = reversal.occurredDay,
  superseded = reversal.superseded,
  repairs = reversal.repairs,
})
record[RECORD.due] = 1
record[RECORD.attributes] = reversal.attributes
if call.body.dryRun then
  return unwritten(record)
end
return close_user_call(call, record, changes)
