--- @include "lib/live_streams"
--- @include "lib/moves"
--- @include "lib/idempotency_keys"

--[[
Writes changes of users of a tenant's part that TypeScript has computed, each only if the user is still the one that was read. Checks
first and writes last, in one atomic step.

A user's block holds if the packed state and the block's fields are those that were read. Everything that uses an idempotency key of a
user also changes the state, so then the keys of the block are still unused, too. Of a user who was recalled instead of read, the keys
are checked here.

KEYS: by COMMIT_KEY; the blocks' users in order; all other keys.
ARGV: the words of the call (CALL, SETs, HASH_COUNTS); the words of each block (BLOCK); for each block the expected and the new packed
      state ('': none; '' as new: unchanged), and the parts of each of its records before and, if there are any, after the leaderboards;
      then the counts of each block, if they may be needed; then, for a step of a queued batch whose caller waits, the packed
      indexes of its events and their answers. Words are packed one after the other, not as a list.
Returns: a reply per block: for an applied block the packed leaderboards of its records, one after the other, otherwise a list by ENDED;
      then the position in the outbox ('' if nothing was written). Or only a list by ENDED and '', if it concerns the whole call
      (`passed`, `maybeStored`).
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

-- More words than Lua's stack holds are packed as a list, which takes three times as long.
local function words_of(packed)
  local words = { cmsgpack.unpack(packed) }
  return #words > 1 and words or (unpack(words))
end

-- The generation of new users.
local function generation()
  return redis.call('HGET', KEYS[COMMIT_KEY.counters], COUNTER.generation) or ''
end

local function are_fields_unchanged(words)
  for at = words[BLOCK.fields], words[BLOCK.times] - 1, FIELD.size do
    if (redis.call('HGET', KEYS[words[at]], words[at + FIELD.field]) or '') ~= words[at + FIELD.before] then
      return false
    end
  end
  return true
end

-- The tenant's idempotency keys, which are read once per call, if at all.
local tenant

local function use_at(words, at)
  tenant = tenant or tenant_keys(KEYS[COMMIT_KEY.oldKeys])
  local wide, narrow = KEYS[words[at]], KEYS[words[at + USE.narrow]]
  return known_use(tenant, wide, narrow, words[at + USE.field])
end

local function are_keys_unused(words)
  for at = words[BLOCK.uses], words[BLOCK.fields] - 1, USE.size do
    if use_at(words, at) ~= '' then
      return false
    end
  end
  return true
end

local function conflict(words, state)
  local reply = { ENDED.conflict, state or '', generation() }
  for at = words[BLOCK.uses], words[BLOCK.fields] - 1, USE.size do
    reply[#reply + 1] = use_at(words, at)
  end
  return reply
end

-- Whether a block only has a state, counts and records.
local function is_plain(words)
  return words[BLOCK.records] == BLOCK.generation
end

-- The reply to a block of which an earlier try wrote records; nil if there are none.
local function earlier_records(words, retried)
  local found = {}
  for at = words[BLOCK.ids], words[BLOCK.records] - 1 do
    found[#found + 1] = retried.record(words[at])
  end
  return found[1] and { ENDED.earlier, table.concat(found) }
end

-- The reply to a block that does not hold; nil if it holds.
local function refusal_of(words, expected, state)
  if is_plain(words) then
    return state ~= expected and { ENDED.conflict, state or '', generation() } or nil
  end
  local new_generation = words[BLOCK.generation]
  if (state or '') ~= expected or (new_generation and generation() ~= new_generation) then
    return conflict(words, state)
  end
  if not are_fields_unchanged(words) or (words[BLOCK.isRecalled] and not are_keys_unused(words)) then
    return conflict(words, state)
  end
  local latest = overtaken(words, words[BLOCK.times], words[BLOCK.ids])
  return latest and { ENDED.overtaken, latest }
end

local function set_fields(words)
  for at = words[BLOCK.fields], words[BLOCK.times] - 1, FIELD.size do
    local key, field, value = KEYS[words[at]], words[at + FIELD.field], words[at + FIELD.value]
    if value == '' then
      redis.call('HDEL', key, field)
    else
      redis.call('HSET', key, field, value)
    end
  end
end

local function note_uses(words)
  for at = words[BLOCK.uses], words[BLOCK.fields] - 1, USE.size do
    tenant = tenant or tenant_keys(KEYS[COMMIT_KEY.oldKeys])
    local wide, narrow = KEYS[words[at]], KEYS[words[at + USE.narrow]]
    note_use(tenant, wide, narrow, words[at + USE.field], words[at + USE.use])
  end
end

-- Takes the counts of blocks that are not written out of those of the call. `packed`: the COUNTs of each block.
local function drop_counts(call, blocks, packed)
  local at_of, at = {}, call[CALL.counts]
  while call[at] do
    local key, size = call[at], call[at + HASH_COUNTS.size]
    local fields = at + HASH_COUNTS.fields
    at_of[key] = {}
    for field = fields, fields + size - 1 do
      at_of[key][call[field]] = field + size
    end
    at = fields + 2 * size
  end
  for n, words in ipairs(cmsgpack.unpack(packed)) do
    for count = 1, blocks[n] and 0 or #words, COUNT.size do
      local added = at_of[words[count]][words[count + COUNT.field]]
      call[added] = call[added] - words[count + COUNT.added]
    end
  end
end

-- Adds to `size` fields, of which the first is the word `first`. Returns the fields that have become 0, or nil.
local function add_one_by_one(key, call, first, size)
  local gone
  for at = first, first + size - 1 do
    local field, added = call[at], call[at + size]
    if added ~= 0 and redis.call('HINCRBY', key, field, texts[added] or text_of(added)) == 0 then
      gone = gone or {}
      gone[#gone + 1] = field
    end
  end
  return gone
end

-- Numbers up to this are exact in Lua.
local MOST_EXACT = 2 ^ 53

-- The same with two calls, however many fields there are.
local function add_together(key, call, first, size)
  local values = redis.call('HMGET', key, unpack(call, first, first + size - 1))
  local set, last, gone = {}, 0, nil
  for n = 1, size do
    local field, added, value = call[first + n - 1], call[first + n - 1 + size], tonumber(values[n] or 0)
    local sum = value + added
    if added == 0 then
      -- It is unchanged.
    elseif value >= MOST_EXACT or value <= -MOST_EXACT or sum >= MOST_EXACT or sum <= -MOST_EXACT then
      redis.call('HINCRBY', key, field, text_of(added))
    elseif sum == 0 then
      gone = gone or {}
      gone[#gone + 1] = field
    else
      set[last + 1], set[last + 2] = field, texts[sum] or text_of(sum)
      last = last + 2
    end
  end
  if last > 0 then
    redis.call('HSET', key, unpack(set))
  end
  return gone
end

-- As many fields as are cheaper one by one, and as many as Lua's stack holds with their values.
local FEW_FIELDS, MOST_FIELDS = 2, 3000

-- Adds to the counts of the call's hashes. Counts that become 0 are removed.
local function write_counts(call)
  local at = call[CALL.counts]
  while call[at] do
    local key, size, first = KEYS[call[at]], call[at + HASH_COUNTS.size], at + HASH_COUNTS.fields
    local add = size > FEW_FIELDS and size <= MOST_FIELDS and add_together or add_one_by_one
    local gone = add(key, call, first, size)
    if gone then
      redis.call('HDEL', key, unpack(gone))
    end
    at = first + 2 * size
  end
end

-- A waiting caller polls for results many times a second.
local RESULTS_SECONDS = 60

local function finish_step(step, results)
  redis.call('SET', KEYS[step[STEP_PART.progress]], step[STEP_PART.after])
  if step[STEP_PART.finished] ~= '' then
    redis.call('XDEL', KEYS[step[STEP_PART.queue]], step[STEP_PART.finished])
  end
  local answered, key = step[STEP_PART.answered], KEYS[step[STEP_PART.results]]
  if not answered then
    return
  end
  -- One field per step: a field per event would cost Redis 5 µs per event and one line of its log each.
  redis.call('HSET', key, step[STEP_PART.after], results)
  redis.call('HINCRBY', key, BATCH_RESULT.answered, answered)
  redis.call('EXPIRE', key, RESULTS_SECONDS)
end

-- Makes the moves of a block's next record, and adds the record to the outbox's. `at`: where its words begin; `arg`: its first argument.
-- Returns: the packed leaderboards, where the words go on, and the next argument.
local function write_record(words, at, arg, records)
  local head = ARGV[arg]
  local ranked, words_end = write_moves(words, at)
  local last = #records + 1
  records[last] = head
  if words[at] and head ~= '' then
    last = last + 1
    records[last] = ranked
  end
  if words[at + RECORD_WORDS.hasTail] then
    arg = arg + 1
    records[last + 1] = ARGV[arg]
  end
  return ranked, words_end, arg + 1
end

-- Writes the records of a block. Returns: their packed leaderboards, one after the other.
local function write_records(words, records)
  local at, arg, boards = words[BLOCK.records], words[BLOCK.bytes] + BLOCK_BYTES.records, ''
  for n = 1, words[BLOCK.recordCount] do
    local ranked
    ranked, at, arg = write_record(words, at, arg, records)
    boards = n == 1 and ranked or boards .. ranked
  end
  return boards
end

-- Writes the records of the blocks in an order of the blocks. Sets the replies of those that are written.
local function write_in_order(order, blocks, replies, records)
  local ats, args = {}, {}
  for i = 1, #order do
    local n = order[i]
    local words = blocks[n]
    if words then
      local at, arg = ats[n] or words[BLOCK.records], args[n] or words[BLOCK.bytes] + BLOCK_BYTES.records
      local ranked
      ranked, ats[n], args[n] = write_record(words, at, arg, records)
      replies[n] = replies[n] and replies[n] .. ranked or ranked
    end
  end
end

local function main()
  local call = words_of(ARGV[COMMIT_ARG.call])
  local tenant_no, retry_position, block_count = call[CALL.tenantNo], call[CALL.retryPosition], call[CALL.blockCount]
  local order, step = call[CALL.order], call[CALL.step]
  local outbox, users = KEYS[COMMIT_KEY.outbox], COMMIT_KEY.users - 1
  -- With room for one block.
  local replies = { nil, nil }
  tenant = nil
  -- All blocks are written or none, without a step.
  local together = step == true
  if together then
    step = false
  end

  if step and (redis.call('GET', KEYS[step[STEP_PART.progress]]) or '') ~= step[STEP_PART.expected] then
    return { { ENDED.passed }, '' }
  end
  local retried = retry_position ~= '' and open_retry(outbox, retry_position)
  if retried and retried.left then
    return { { ENDED.maybeStored, retried.left }, '' }
  end

  -- 1. Check. `blocks`: the words of each block to write; false for others.
  local states = block_count > 0 and redis.call('MGET', unpack(KEYS, users + 1, users + block_count)) or {}
  local blocks, all_hold, all_written = { nil }, true, true
  for n = 1, block_count do
    local words = words_of(ARGV[COMMIT_ARG.call + n])
    local reply = retried and earlier_records(words, retried)
    all_written = all_written and not reply
    if not reply then
      reply = refusal_of(words, ARGV[words[BLOCK.bytes]], states[n])
      all_hold = all_hold and not reply
    end
    replies[n], blocks[n] = reply, not reply and words
  end
  if (step or together) and not all_hold then
    for n = 1, block_count do
      replies[n] = replies[n] or { ENDED.held }
    end
    replies[block_count + 1] = ''
    return replies
  end

  -- 2. Write.
  local unheard = step and not are_ranks_listened(KEYS[step[STEP_PART.listened]], tenant_no)
  begin_moves(KEYS, call, { is_wide = call[CALL.isWide], unheard = unheard })
  local changed, of_users = { nil, nil }, { nil, nil, nil, nil }
  local records, deleted, last = { nil, nil }, nil, 0
  for n = 1, block_count do
    local words = blocks[n]
    if words then
      local state, key = ARGV[words[BLOCK.bytes] + BLOCK_BYTES.state], KEYS[users + n]
      local plain = is_plain(words)
      if not plain and words[BLOCK.deletes] then
        deleted = deleted or {}
        deleted[#deleted + 1] = key
      elseif state ~= '' then
        changed[last + 1], changed[last + 2] = key, state
        last = last + 2
        of_users[2 * last - 3], of_users[2 * last - 2] = OUTBOX.user, words[BLOCK.userId]
        of_users[2 * last - 1], of_users[2 * last] = OUTBOX.state, state
      end
      if not plain then
        note_times(words, words[BLOCK.times], words[BLOCK.ids])
        note_uses(words)
        set_fields(words)
      end
    end
  end

  -- The records and their moves, in the order in which they happened. The replies to written blocks: the packed leaderboards of all
  -- their records.
  if order then
    write_in_order(order, blocks, replies, records)
  end
  for n = 1, block_count do
    if blocks[n] and not order then
      replies[n] = write_records(blocks[n], records)
    end
    replies[n] = replies[n] or ''
  end
  if step then
    -- Postgres stores the progress with the events, in case Redis loses its latest writes.
    records[#records + 1] = cmsgpack.pack({ [RECORD.kind] = KIND.progress, [RECORD.progress] = step[STEP_PART.after] })
  end
  if #records == 0 then
    replies[block_count + 1] = ''
    return replies
  end

  if last > 0 then
    redis.call('MSET', unpack(changed))
  end
  if deleted then
    redis.call('DEL', unpack(deleted))
  end
  write_scores()
  if not (all_hold and all_written) and call[CALL.blockCounts] then
    drop_counts(call, blocks, ARGV[call[CALL.blockCounts]])
  end
  write_counts(call)
  local packed = table.concat(records)
  replies[block_count + 1] =
    redis.call('XADD', outbox, '*', OUTBOX.tenant, tenant_no, OUTBOX.records, packed, unpack(of_users))
  if step then
    finish_step(step, ARGV[#ARGV])
  end
  return replies
end
