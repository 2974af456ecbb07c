--- @include "lib/live_streams"
--- @include "lib/moves"
--- @include "lib/used_keys"

--[[
Writes changes of users of a tenant's part that TypeScript has computed, each only if the user is still the one that was read. Checks
first and writes last, in one atomic step.

A user's block holds if the packed state and the block's fields are those that were read. Everything that uses an idempotency key of a
user also changes the state, so then the keys of the block are still unused, too.

KEYS: by COMMIT_KEY; the blocks' users in order; all other keys.
ARGV: a packed list by COMMIT; then the bytes: for each block the expected and the new packed state ('': none; '' as new: unchanged),
      and the parts of each of its records before and after the leaderboards; then, for a step of a queued batch whose caller waits, the
      answers that are not records.
Returns: a reply per block: for an applied block the packed ranks of its records, otherwise a list by ENDED; then the position in the
      outbox ('' if nothing was written). Or only a list by ENDED and '', if it concerns the whole call (`passed`, `maybeStored`).
Errors: those of Redis.
Writes: users, idempotency buckets, counters and other counts, quarantine, leaderboards, outbox; progress, queue, results of batches.
Cost: O(bytes + moves × log N).
]]
local function position_before(id)
  local ms, sequence = string.match(id, '(%d+)-(%d+)')
  if tonumber(sequence) > 0 then
    return ms .. '-' .. string.format('%.0f', tonumber(sequence) - 1)
  end
  return string.format('%.0f', tonumber(ms) - 1) .. '-18446744073709551615'
end

-- Finds what earlier tries of a call applied before the connection was lost. Their records are in the outbox or, if the outbox was
-- trimmed since, in Postgres.
-- Returns: { record = function(event ID) → packed record or nil }, or { left = position } if entries after `since` may have left the
-- outbox; Postgres holds everything up to that position.
-- Cost: O(entries since then), only for retries.
local function open_retry(outbox, since)
  if redis.call('EXISTS', outbox) == 0 then
    return { record = function() end }
  end
  local info = {}
  local reply = redis.call('XINFO', 'STREAM', outbox)
  for i = 1, #reply, 2 do
    info[reply[i]] = reply[i + 1]
  end
  local entries = redis.call('XRANGE', outbox, '(' .. since, '+')
  -- If nothing was added since, or the entry at `since` is still there, no later entry has left.
  local anchored = info['last-generated-id'] == since or #redis.call('XRANGE', outbox, since, since) == 1
  if not anchored then
    if not entries[1] then
      return { left = info['last-generated-id'] }
    end
    local left = position_before(entries[1][1])
    if left ~= since then
      return { left = left }
    end
  end
  return {
    -- Takes an event's last record, because an event released from quarantine has an earlier one from its quarantine.
    record = function(event_id)
      for n = #entries, 1, -1 do
        local entry = entries[n]
        local packed = entry[2][4]
        if string.find(packed, event_id, 1, true) then
          for _, record in ipairs({ cmsgpack.unpack(packed) }) do
            if record[EVENT_RECORD.id] == event_id or record[RECORD.id] == event_id then
              return cmsgpack.pack(record)
            end
          end
        end
      end
    end,
  }
end

local call = cmsgpack.unpack(ARGV[COMMIT_ARG.call])
local blocks, step, large_keys = call[COMMIT.blocks], call[COMMIT.step], call[COMMIT.largeKeys]
local outbox, old_keys = KEYS[COMMIT_KEY.outbox], KEYS[COMMIT_KEY.oldKeys]
local FIRST_USER = COMMIT_KEY.users
local replies = {}

if step and (redis.call('GET', KEYS[step[STEP_PART.progress]]) or '') ~= step[STEP_PART.expected] then
  return { { ENDED.passed }, '' }
end

local retry_position = call[COMMIT.retryPosition]
local find_retried = retry_position ~= '' and open_retry(outbox, retry_position)
if find_retried and find_retried.left then
  return { { ENDED.maybeStored, find_retried.left }, '' }
end

-- 1. Check.
local states = #blocks > 0 and redis.call('MGET', unpack(KEYS, FIRST_USER, FIRST_USER + #blocks - 1)) or {}
local new_generation

local function generation()
  new_generation = new_generation or redis.call('HGET', KEYS[COMMIT_KEY.counters], COUNTER.generation) or ''
  return new_generation
end

local function use_of(uses, at)
  return hot_use(KEYS[uses[at + USE.wide]], KEYS[uses[at + USE.narrow]], uses[at + USE.field], large_keys) or ''
end

local function conflict(block, state)
  local reply, uses = { ENDED.conflict, state or '', generation() }, block[BLOCK.uses]
  for at = 1, #uses, USE.size do
    reply[#reply + 1] = use_of(uses, at)
  end
  return reply
end

local function earlier_records(block)
  local found = {}
  for _, part in ipairs(block[BLOCK.records]) do
    found[#found + 1] = find_retried.record(part[RECORD_PART.id])
  end
  return found[1] and { ENDED.earlier, table.concat(found) }
end

local function are_fields_unchanged(fields)
  for at = 1, #fields, FIELD.size do
    local value = redis.call('HGET', KEYS[fields[at]], fields[at + FIELD.field]) or ''
    if value ~= fields[at + FIELD.before] then
      return false
    end
  end
  return true
end

-- `applied`: the numbers of blocks to write; `first_args`: where each block's bytes begin.
local arg, all_hold, applied, first_args = COMMIT_ARG.bytes, true, {}, {}
for n = 1, #blocks do
  local block = blocks[n]
  local expected, state = ARGV[arg + BLOCK_BYTES.expected], states[n]
  local first_arg = arg
  arg = arg + BLOCK_BYTES.records + RECORD_BYTES.size * #block[BLOCK.records]
  local earlier = find_retried and earlier_records(block)
  if earlier then
    replies[n] = earlier
  elseif
    (state or '') ~= expected
    or (block[BLOCK.isNew] and generation() ~= block[BLOCK.generation])
    or not are_fields_unchanged(block[BLOCK.fields])
  then
    replies[n], all_hold = conflict(block, state), false
  else
    local latest = overtaken(block[BLOCK.times])
    if latest then
      replies[n], all_hold = { ENDED.overtaken, latest }, false
    else
      applied[#applied + 1], first_args[n] = n, first_arg
    end
  end
end

if step and not all_hold then
  for n = 1, #blocks do
    replies[n] = replies[n] or { ENDED.held }
  end
  replies[#blocks + 1] = ''
  return replies
end

-- 2. Write.
local unheard = step and not are_ranks_listened(KEYS[step[STEP_PART.listened]], call[COMMIT.tenantNo])
local moving = { keys = KEYS, unheard = unheard, wide = call[COMMIT.wide], scores = {}, thresholds = {} }
local counts, records, changed, of_users, deleted = {}, {}, {}, {}, {}

local function add_counts(list)
  for at = 1, #list, COUNT.size do
    local key, field = list[at + COUNT.key], list[at + COUNT.field]
    local of_key = counts[key]
    if not of_key then
      of_key = {}
      counts[key] = of_key
    end
    of_key[field] = (of_key[field] or 0) + list[at + COUNT.added]
  end
end

local function note_uses(uses)
  for at = 1, #uses, USE.size do
    local wide, narrow = KEYS[uses[at + USE.wide]], KEYS[uses[at + USE.narrow]]
    note_use(old_keys, wide, narrow, uses[at + USE.field], uses[at + USE.use], large_keys)
  end
end

for i = 1, #applied do
  local n = applied[i]
  local block, state = blocks[n], ARGV[first_args[n] + BLOCK_BYTES.state]
  if block[BLOCK.deletes] then
    deleted[#deleted + 1] = KEYS[FIRST_USER + n - 1]
  elseif state ~= '' then
    changed[#changed + 1], changed[#changed + 2] = KEYS[FIRST_USER + n - 1], state
    local last = #of_users
    of_users[last + 1], of_users[last + 2] = OUTBOX.user, block[BLOCK.userId]
    of_users[last + 3], of_users[last + 4] = OUTBOX.state, state
  end
  note_times(block[BLOCK.times])
  note_uses(block[BLOCK.uses])
  add_counts(block[BLOCK.counts])
  local fields = block[BLOCK.fields]
  for field_at = 1, #fields, FIELD.size do
    local key, field, value = KEYS[fields[field_at]], fields[field_at + FIELD.field], fields[field_at + FIELD.value]
    if value == '' then
      redis.call('HDEL', key, field)
    else
      redis.call('HSET', key, field, value)
    end
  end
end

-- The records and their moves, in the order in which they happened.
local ranks = {}

local function write_part(n, part)
  local moves, of_block = blocks[n][BLOCK.records][part][RECORD_PART.moves], ranks[n]
  local at = first_args[n] + BLOCK_BYTES.records + RECORD_BYTES.size * (part - 1)
  local head, tail = ARGV[at + RECORD_BYTES.head], ARGV[at + RECORD_BYTES.tail]
  of_block[part] = false
  if moves then
    of_block[part] = write_moves(moves, moving)
    head = head ~= '' and head .. cmsgpack.pack(of_block[part]) or ''
  end
  records[#records + 1] = head .. tail
end

local order = call[COMMIT.order]
for i = 1, #applied do
  local n = applied[i]
  ranks[n] = {}
  for part = 1, order and 0 or #blocks[n][BLOCK.records] do
    write_part(n, part)
  end
end
for at = 1, order and #order or 0, ORDERED.size do
  local n = order[at + ORDERED.block]
  if first_args[n] then
    write_part(n, order[at + ORDERED.part])
  end
end
for i = 1, #applied do
  local n = applied[i]
  replies[n] = cmsgpack.pack(ranks[n])
end
if step then
  -- Postgres stores the progress with the events, in case Redis loses its latest writes.
  records[#records + 1] = cmsgpack.pack({ [RECORD.kind] = KIND.progress, [RECORD.progress] = step[STEP_PART.after] })
end
if #records == 0 then
  replies[#blocks + 1] = ''
  return replies
end

if #changed > 0 then
  redis.call('MSET', unpack(changed))
end
if #deleted > 0 then
  redis.call('DEL', unpack(deleted))
end
write_scores(moving)
for key, of_key in pairs(counts) do
  local gone
  for field, added in pairs(of_key) do
    if added ~= 0 and redis.call('HINCRBY', KEYS[key], field, text_of(added)) == 0 then
      gone = gone or {}
      gone[#gone + 1] = field
    end
  end
  if gone then
    redis.call('HDEL', KEYS[key], unpack(gone))
  end
end
local entry = { OUTBOX.tenant, call[COMMIT.tenantNo], OUTBOX.records, table.concat(records) }
for n = 1, #of_users do
  entry[#entry + 1] = of_users[n]
end
replies[#blocks + 1] = redis.call('XADD', outbox, '*', unpack(entry))

-- A waiting caller polls for results many times a second.
local RESULTS_SECONDS = 60
if step then
  redis.call('SET', KEYS[step[STEP_PART.progress]], step[STEP_PART.after])
  if step[STEP_PART.finished] ~= '' then
    redis.call('XDEL', KEYS[step[STEP_PART.queue]], step[STEP_PART.finished])
  end
  local wanted = step[STEP_PART.wanted]
  if wanted then
    -- One field per step: a field per event would cost Redis 5 µs per event and one line of its log each.
    local answers, results = { cmsgpack.pack(wanted) }, KEYS[step[STEP_PART.results]]
    for _, record in ipairs(step[STEP_PART.answers]) do
      if record > 0 then
        answers[#answers + 1] = records[record]
      else
        answers[#answers + 1] = ARGV[arg]
        arg = arg + 1
      end
    end
    redis.call('HSET', results, step[STEP_PART.after], table.concat(answers))
    redis.call('HINCRBY', results, BATCH_RESULT.answered, #wanted)
    redis.call('EXPIRE', results, RESULTS_SECONDS)
  end
end
return replies
