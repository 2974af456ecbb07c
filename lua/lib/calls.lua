--- @include "rank_boards"
--- @include "remembered"
--- @include "retry"
--- @include "users"

-- Beginning and end of every call that changes a tenant's users. `Scripts` (src/engine/scripts.ts) builds KEYS and ARGV.

-- The common part of all calls. `keys`: KEYS, by CALL_KEY; `args`: ARGV, by CALL_ARG.
local function open_tenant_call(keys, args)
  return {
    outbox = keys[CALL_KEY.outbox],
    counters = keys[CALL_KEY.counters],
    now = tonumber(args[CALL_ARG.nowMs]),
    tenant_no = args[CALL_ARG.tenantNo],
    board_prefix = args[CALL_ARG.boardPrefix],
    points_prefix = args[CALL_ARG.pointsPrefix],
    retry_position = args[CALL_ARG.retryPosition],
    wide = args[CALL_ARG.wide] == '1',
  }
end

-- Opens every call that is not about events. Adds `plan` (or nil); `body`, the named fields that the script documents; `keys`, the
-- script's own keys; `states`, packed states, which are not JSON.
local function open_call(keys, args)
  local call = open_tenant_call(keys, args)
  call.plan = args[CALL_ARG.plan] ~= '' and plan_of(args[CALL_ARG.plan]) or nil
  call.body = cjson.decode(args[CALL_ARG.body])
  call.keys, call.states = {}, {}
  for at = CALL_KEY.own, #keys do
    call.keys[#call.keys + 1] = keys[at]
  end
  for at = CALL_ARG.states, #args do
    call.states[#call.states + 1] = args[at]
  end
  return call
end

-- The result of an earlier try of a call that writes one record. `happened_id`: the record's ID.
-- Returns: nil if no try was applied; else the packed record and ''; or, if the record may have left the outbox, the packed refusal
-- `maybeStored` and the position up to which Postgres must be checked.
local function earlier_try(call, happened_id)
  if call.retry_position == '' then
    return nil
  end
  local find_retried = open_retry(call.outbox, call.retry_position)
  if find_retried.left then
    return cmsgpack.pack({ [RECORD.kind] = REFUSAL.maybeStored, [MAYBE_STORED.upTo] = find_retried.left }),
      find_retried.left
  end
  return find_retried.record(happened_id), ''
end

-- Writes a record's effects to the tenant's counters, points totals and leaderboards (`changes` of score_boards), and adds the ranks
-- to the record (`unheard`: see rank_boards). `write_users` must follow, because some writes are held until then.
-- Returns: the packed record.
local write_record
do
  local function move_points(changed, prefix)
    if not changed then
      return
    end
    local keys = this_call.points or held('points')
    for i = 1, #changed do
      local points = changed[i]
      local key = keys[points[RECORDED_POINTS.system]]
      if not key then
        key = prefix .. text_of(points[RECORDED_POINTS.system])
        keys[points[RECORDED_POINTS.system]] = key
      end
      hold_total(key, points[RECORDED_POINTS.before], points[RECORDED_POINTS.after])
    end
  end

  -- Counts the users who have completed the achievements of a record (its fields by RECORD).
  local function count_completed(call, few)
    local completed, repeats = few[RECORD.completed], nil
    for _, quest in ipairs(few[RECORD.quests] or {}) do
      local no = quest[RECORDED_QUEST.achievement]
      repeats = repeats or {}
      repeats[no] = true
      if quest[RECORDED_QUEST.completed] == 1 and quest[RECORDED_QUEST.times] == 1 then
        hold_count(call.counters, COUNTER.completions .. no)
      end
    end
    for i = 1, completed and #completed or 0 do
      if not (repeats and repeats[completed[i]]) then
        hold_count(call.counters, COUNTER.completions .. completed[i])
      end
    end
  end

  write_record = function(call, record, changes, unheard)
    -- An event's record is a list; the others are maps.
    local is_event = record[EVENT_RECORD.kind] == KIND.event
    local few = not is_event and record or record[EVENT_RECORD.more]
    if few and few[RECORD.isNew] then
      hold_count(call.counters, COUNTER.users)
    end
    if few and few[RECORD.completed] then
      count_completed(call, few)
    end
    if is_event then
      local user_id = record[EVENT_RECORD.userId]
      move_points(record[EVENT_RECORD.points], call.points_prefix)
      record[EVENT_RECORD.boards] = rank_boards(changes, user_id, call, unheard)
    else
      move_points(record[RECORD.points], call.points_prefix)
      record[RECORD.boards] = rank_boards(changes, record[RECORD.userId], call, unheard)
    end
    return cmsgpack.pack(record)
  end
end

-- Writes the packed states of users (`touched`, see `read_user`) and all held writes, and appends the states and packed records to
-- the outbox. Returns: the position in the outbox.
local function write_users(call, records, touched)
  local entry, states = { OUTBOX.tenant, call.tenant_no, OUTBOX.records, table.concat(records) }, {}
  for i = 1, #touched do
    local user = touched[i]
    local at, packed = i * 4, user.packed
    states[i * 2 - 1], states[i * 2] = user.key, packed
    entry[at + 1], entry[at + 2], entry[at + 3], entry[at + 4] = OUTBOX.user, user.id, OUTBOX.state, packed
  end
  if #states > 0 then
    redis.call('MSET', unpack(states))
  end
  write_all_held()
  return redis.call('XADD', call.outbox, '*', unpack(entry))
end

-- Writes records, their leaderboard changes (`applied`, a list of APPLIED) and their users as one outbox entry.
-- Returns: the position in the outbox; '' if nothing was applied, in which case nothing is written.
local function write_applied(call, applied, touched)
  if #applied == 0 then
    return ''
  end
  local records = {}
  for n, each in ipairs(applied) do
    records[n] = write_record(call, each[APPLIED.record], each[APPLIED.changes])
  end
  return write_users(call, records, touched)
end
