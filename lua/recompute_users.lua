--- @include "lib/compensate"
--- @include "lib/due_points"
--- @include "lib/read_user"
--- @include "lib/recompute_completions"
--- @include "lib/recompute_scores"
--- @include "lib/score_boards"
--- @include "lib/settle_streaks"
--- @include "lib/settled_record"
--- @include "lib/state_room"
--- @include "lib/streak_at"
--- @include "lib/write_applied"

--[[
Gives and takes what a recomputation planned for some users, or takes back what it did: completions of achievements, points,
and with them boards of points; where boards are computed again, scores in runs that are not final. A user's state says which
step was made last, so that a step which is repeated, by whomever, changes nothing. Computed first, written last.

KEYS: 1 outbox of the shard, 2 counters of the tenant, then the users.
ARGV: 1 now (epoch ms), 2 tenant no, 3 plan of no metric (JSON) with `limits`, the maximum of points by system no, and, where
      boards are computed again, `scored`, see lib/recompute_scores, 4 prefix of boards, 5 prefix of points totals, 6 number of the
      step, above that of all steps before it, 7 the job (32 hex), 8 '1': what the job did is taken back, then 3 a user: id, id of
      the record (32 hex), what is to be done (JSON, `PlannedUser` of src/engine/recomputations/planned-user.ts).
Returns: RECOMPUTED a user; then the position of the outbox ('' if nothing was written).
Errors: those of Redis only.
Writes: outbox, users, counters, points totals, boards.
Cost: O(users × (size of a user + what is planned) + boards × log N).
]]
local outbox, counters = KEYS[1], KEYS[2]
local now, tenant_no, plan = tonumber(ARGV[1]), ARGV[2], cjson.decode(ARGV[3])
local board_prefix, points_prefix = ARGV[4], ARGV[5]
local step, job, reverts = tonumber(ARGV[6]), ARGV[7], ARGV[8] == '1'
local FIRST, STRIDE, FIRST_USER = 9, 3, 3
local count = (#ARGV - FIRST + 1) / STRIDE
local replies, applied, touched = {}, {}, {}

-- What of the points moved boards of points, as score_boards takes it.
local function ledgers_of(changed)
  local ledgers = {}
  for n, points in ipairs(changed) do
    local before, after = points[RECORDED_POINTS.before], points[RECORDED_POINTS.after]
    ledgers[n] = { system = { no = points[RECORDED_POINTS.system] }, before = before, total = after }
  end
  return ledgers
end

-- Applies to a user, in memory, what is planned: the record without its ID and the changes on boards; nil where nothing is left.
local function recompute(user, planned)
  local state = state_of(user)
  local local_second = math.floor(now / 1000) + (state[USER.offsetSeconds] or 0)
  local outcome = { day = math.floor(local_second / 86400), second = local_second % 86400 }
  local settlements = settle_streaks(state, plan.streak, plan.periods[outcome.day - plan.firstDay + 1])
  outcome.length = state[streak_at[plan.streak.frequency] + STREAK.length]
  local done = recompute_completions(state, planned, now)
  -- What there was before may have been more than the maximum of now.
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
  for _, change in ipairs(score_boards({ plan = plan, whole = 0, micros = 0, call = true }, state, ledgers, outcome)) do
    changes[#changes + 1] = change
  end
  local points = {}
  for _, each in ipairs(moved) do
    if #each[RECORDED_POINTS.awards] > 0 then
      points[#points + 1] = each
    end
  end
  state[USER.recomputed] = step
  local record = {
    [RECORD.kind] = #done.completed > 0 and KIND.completion or KIND.user,
    [RECORD.userId] = user.id,
    [RECORD.atMs] = now,
    [RECORD.day] = outcome.day,
    [RECORD.completed] = #done.completed > 0 and done.completed or nil,
    [RECORD.points] = #points > 0 and points or nil,
    [RECORD.version] = plan.version,
    [RECORD.recomputation] = {
      job,
      reverts and 1 or 0,
      done.revoked,
      done.restored,
      due,
      shortfalls,
      done.skipped,
      scores,
    },
  }
  settled_record(record, settlements, state)
  return record, changes, done
end

for n = 1, count do
  local user_id, record_id, planned = unpack(ARGV, FIRST + (n - 1) * STRIDE, FIRST + n * STRIDE - 1)
  planned = cjson.decode(planned)
  local user = read_user({}, KEYS[FIRST_USER + n - 1], user_id)
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
      record[RECORD.id] = record_id
      count_completions(counters, done)
      applied[#applied + 1] = { record, changes }
      touched[#touched + 1] = { user.key, user_id, packed }
    end
  end
end

replies[count + 1] = write_applied(applied, touched, {
  outbox = outbox,
  tenant_no = tenant_no,
  counters = counters,
  points_prefix = points_prefix,
  board_prefix = board_prefix,
})
return replies
