--- @include "lib/add_settlements"
--- @include "lib/admit_user"
--- @include "lib/compensate"
--- @include "lib/correct_scores"
--- @include "lib/earlier_try"
--- @include "lib/out_of_range"
--- @include "lib/read_user"
--- @include "lib/revoke_achievements"
--- @include "lib/sent_of"
--- @include "lib/score_boards"
--- @include "lib/settle_streaks"
--- @include "lib/settled_record"
--- @include "lib/state_room"
--- @include "lib/streak_record"
--- @include "lib/take_from_total"
--- @include "lib/take_replay"
--- @include "lib/write_record"
--- @include "lib/write_users"
--- @include "lib/streak_at"

--[[
Reverses an event, or the reversal of one, in one atomic step: total, counts, streaks, achievements, points and the runs
of boards that are not final. What is to be done was computed from what Postgres holds, see
src/engine/corrections/reversal-plan.ts; if the user has changed since, nothing is done: any event may be what a period of a
streak is met by.

KEYS: 1 outbox of the shard (stream), 2 counters of the tenant (hash), 3 the user (string). Boards and points come as
      prefixes; same hash tag.
ARGV: 1 now (epoch ms), 2 tenant no, 3 plan of no metric (JSON, see src/catalog/plan.ts), 4 prefix of boards, 5 prefix of
      points totals, 6 retry position: '' for a first try, else an outbox position from before it, 7 user id, 8 id of the opposite
      event (32 hex), 9 the zone's offset now (JSON, as upsert_user takes it, or ''), 10 the reversal (JSON, `ReversalPlan`),
      11 '1': nothing is written, for seeing what would change.
Returns: a record `k`, or a refusal n, z, j, v, f, d (packed, src/packed/record.ts); the position of the outbox after the call
      ('' if it wrote nothing).
Errors: those of Redis only.
Writes: outbox, user, counters, points totals, boards.
Cost: O(size of the user + awards + boards × log N).
]]
local outbox, counters, user_key = KEYS[1], KEYS[2], KEYS[3]
local now, tenant_no, plan = tonumber(ARGV[1]), ARGV[2], cjson.decode(ARGV[3])
local board_prefix, points_prefix, retry_position = ARGV[4], ARGV[5], ARGV[6]
local user_id, event_id = ARGV[7], ARGV[8]
local sent, seen = sent_of(ARGV[9]), {}
local reversal, dry = cjson.decode(ARGV[10]), ARGV[11] == '1'

local function refuse(kind)
  return { cmsgpack.pack({ [RECORD.kind] = kind }), '' }
end

local earlier, position = earlier_try(outbox, retry_position, event_id)
if earlier then
  return { earlier, position }
end
local user = read_user({}, user_key, user_id)
if not user.packed then
  return refuse(REFUSAL.unknownUser)
end
if redis.sha1hex(user.packed) ~= reversal.expected then
  return refuse(REFUSAL.outdated)
end
local state = state_of(user)
local at_streak = streak_at[plan.streak.frequency]
local previous_length = state[at_streak + STREAK.length]
-- What is settled by now is among it; the zone that the user is in stays.
local settlements = take_replay(state, reversal.replayed)
local refusal = admit_user(state, sent, now, plan, seen)
if refusal then
  return { cmsgpack.pack(refusal), '' }
end
local local_second = math.floor(now / 1000) + (state[USER.offsetSeconds] or 0)
local day = math.floor(local_second / 86400)
local row = plan.periods[day - plan.firstDay + 1]
settlements = add_settlements(settlements, settle_streaks(state, plan.streak, row, seen.left))

-- The value of the event that goes, or, where a reversal is reversed, of the opposite one.
local metric, whole, micros = reversal.metric, reversal.whole, reversal.micros
take_from_total(state[USER.totals], metric, whole, micros)
local total = state[USER.totals][metric] or { 0, 0 }
if leaves_range(total[TOTAL.whole], -whole, -micros) then
  return {
    cmsgpack.pack({
      [RECORD.kind] = REFUSAL.outOfRange,
      [OUT_OF_RANGE.metric] = metric,
      [OUT_OF_RANGE.sum] = SUM.total,
    }),
    '',
  }
end
for _, no in ipairs(reversal.counted) do
  take_from_total(state[USER.counts], no, whole, micros)
end

local revoked = revoke_achievements(state, reversal)
local restored = {}
for _, each in ipairs(revoked) do
  hold_count(counters, COUNTER.completions .. each[COMPLETED.achievement], -1)
end
for _, each in ipairs(reversal.restored) do
  local no = each[COMPLETED.achievement]
  if not state[USER.completions][no] then
    restored[#restored + 1] = each
    state[USER.completions][no] = each[COMPLETED.atMs]
    hold_count(counters, COUNTER.completions .. no)
  end
end

local points, shortfalls, moved_by = compensate(state, reversal.awards, reversal.held, reversal.limits)
local length = state[at_streak + STREAK.length]
local outcome = { day = day, second = local_second % 86400, length = length }
local changes = score_boards({ plan = plan, whole = 0, micros = 0, call = true }, state, {}, outcome)
for _, change in ipairs(correct_scores(state, reversal.boards, moved_by)) do
  changes[#changes + 1] = change
end

state[USER.corrections] = (state[USER.corrections] or 0) + 1
local record = {
  [RECORD.kind] = KIND.reversal,
  [RECORD.id] = event_id,
  [RECORD.userId] = user_id,
  [RECORD.atMs] = now,
  [RECORD.day] = reversal.day,
  [RECORD.metric] = metric,
  [RECORD.value] = { -whole, -micros },
  [RECORD.total] = { total[TOTAL.whole], total[TOTAL.micros] },
  [RECORD.streak] = streak_record(state, plan.streak, false, day),
  [RECORD.points] = #points > 0 and points or nil,
  [RECORD.reversal] = {
    reversal.root,
    reversal.reversed,
    reversal.voids and 1 or 0,
    reversal.awards,
    revoked,
    restored,
    shortfalls,
    length == 0 and previous_length > 0 and previous_length or nil,
  },
}
settled_record(record, settlements, state)
occurred_record(record, {
  at = reversal.occurredMs,
  day = reversal.occurredDay,
  superseded = reversal.superseded,
  repairs = reversal.repairs,
})
record[RECORD.due] = 1
if reversal.attributes then
  record[RECORD.attributes] = reversal.attributes
end
if dry then
  return { cmsgpack.pack(record), '' }
end
local packed = pack_state(state)
if not has_room(packed, user.packed) then
  return refuse(REFUSAL.tooLarge)
end
local reply = write_record(record, changes, counters, points_prefix, board_prefix)
return { reply, write_users(outbox, tenant_no, { reply }, { { user.key, user_id, packed } }) }
