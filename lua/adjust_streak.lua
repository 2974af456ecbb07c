--- @include "lib/admit_user"
--- @include "lib/change_streak"
--- @include "lib/earlier_try"
--- @include "lib/read_user"
--- @include "lib/sent_of"
--- @include "lib/state_room"
--- @include "lib/score_boards"
--- @include "lib/settle_streaks"
--- @include "lib/settled_record"
--- @include "lib/write_record"
--- @include "lib/write_users"
--- @include "lib/streak_at"

--[[
Changes a user's streak by an administrator's word, in one atomic step: what the clock did is settled first, then a
freeze is given, a pause made or deleted, the streaks reset, or the longest streak restored; streak boards follow.

KEYS: 1 outbox of the shard (stream), 2 counters of the tenant (hash), 3 the user (string). Boards come as a prefix; same
      hash tag.
ARGV: 1 now (epoch ms), 2 tenant no, 3 plan of no metric (JSON, see src/catalog/plan.ts), 4 prefix of boards, 5 retry
      position: '' for a first try, else an outbox position from before it, 6 user id, 7 id of the call (32 hex), 8 the zone's offset now (JSON, as
      upsert_user takes it, or ''), 9 the change (JSON, see lib/change_streak).
Returns: a record `s`, or a refusal z, n, w, d (packed, src/packed/record.ts); the position of the outbox after the call ('' if
      it wrote nothing).
Errors: those of Redis only.
Writes: outbox, user, boards.
Cost: O(size of the user + days unmet + boards × log N).
]]
local outbox, counters, user_key = KEYS[1], KEYS[2], KEYS[3]
local now, tenant_no, plan, board_prefix = tonumber(ARGV[1]), ARGV[2], cjson.decode(ARGV[3]), ARGV[4]
local retry_position, user_id, call_id = ARGV[5], ARGV[6], ARGV[7]
local sent, change, seen = sent_of(ARGV[8]), cjson.decode(ARGV[9]), {}
local earlier, position = earlier_try(outbox, retry_position, call_id)
if earlier then
  return { earlier, position }
end
local user = read_user({}, user_key, user_id)
if not user.packed then
  return { cmsgpack.pack({ [RECORD.kind] = REFUSAL.unknownUser }), '' }
end
local state = state_of(user)
local refusal = admit_user(state, sent, now, plan, seen)
if refusal then
  return { cmsgpack.pack(refusal), '' }
end
local local_second = math.floor(now / 1000) + (state[USER.offsetSeconds] or 0)
local day = math.floor(local_second / 86400)
local row = plan.periods[day - plan.firstDay + 1]
local record = {
  [RECORD.kind] = KIND.streaks,
  [RECORD.id] = call_id,
  [RECORD.userId] = user_id,
  [RECORD.atMs] = now,
  [RECORD.day] = day,
  [RECORD.byAdmin] = 1,
}
local settlements = settle_streaks(state, plan.streak, row, seen.left) or {}
local why = change_streak(state, change, { rule = plan.streak, row = row, settlements = settlements, record = record })
if why then
  return { cmsgpack.pack({ [RECORD.kind] = REFUSAL.unchanged, [UNCHANGED.why] = why, [UNCHANGED.day] = day }), '' }
end
settled_record(record, settlements, state)
local outcome =
  { day = day, second = local_second % 86400, length = state[streak_at[plan.streak.frequency] + STREAK.length] }
local changes = score_boards({ plan = plan, whole = 0, micros = 0, call = true }, state, {}, outcome)
local packed = pack_state(state)
if not has_room(packed, user.packed) then
  return {
    cmsgpack.pack({ [RECORD.kind] = REFUSAL.unchanged, [UNCHANGED.why] = STREAK_REFUSAL.large, [UNCHANGED.day] = day }),
    '',
  }
end
local reply = write_record(record, changes, counters, '', board_prefix)
return { reply, write_users(outbox, tenant_no, { reply }, { { user.key, user_id, packed } }) }
