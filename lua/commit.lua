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
ARGV: the words of the call, in the order of `main` (`true` as step: all blocks are written or none); then for each block its words by BLOCK, the expected and the new packed state ('':
      none; '' as new: unchanged), and the parts of each of its records before and after the leaderboards; then, for a step of a queued
      batch whose caller waits, the packed indexes of its events and their answers. Words are packed one after the other, not as a list.
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

-- The reply to a block of which an earlier try wrote records; nil if there are none.
local function earlier_records(words, retried)
  local found = {}
  for at = words[BLOCK.ids], words[BLOCK.counts] - 1 do
    found[#found + 1] = retried.record(words[at])
  end
  return found[1] and { ENDED.earlier, table.concat(found) }
end

-- Whether a block only has a state, counts and records: neither keys nor fields, times of scores or IDs.
local function is_plain(words)
  return words[BLOCK.uses] == words[BLOCK.counts]
end

-- The reply to a block that does not hold; nil if it holds.
local function refusal_of(words, expected, state)
  local new_generation = words[BLOCK.generation]
  if (state or '') ~= expected or (new_generation and generation() ~= new_generation) then
    return conflict(words, state)
  end
  if is_plain(words) then
    return nil
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

local function add_counts(words, counts)
  for at = words[BLOCK.counts], words[BLOCK.records] - 1, COUNT.size do
    local key, field = words[at + COUNT.key], words[at + COUNT.field]
    local of_key = counts[key]
    if not of_key then
      of_key = {}
      counts[key] = of_key
    end
    of_key[field] = (of_key[field] or 0) + words[at + COUNT.added]
  end
end

local function add_one_by_one(key, of_key)
  local gone
  for field, added in pairs(of_key) do
    if added ~= 0 and redis.call('HINCRBY', key, field, text_of(added)) == 0 then
      gone = gone or {}
      gone[#gone + 1] = field
    end
  end
  return gone
end

-- Numbers up to this are exact in Lua.
local MOST_EXACT = 2 ^ 53

-- Adds with two calls, however many fields there are.
local function add_together(key, of_key)
  local fields, set, gone, large = {}, {}, nil, nil
  for field, added in pairs(of_key) do
    if added ~= 0 then
      fields[#fields + 1] = field
    end
  end
  local values = redis.call('HMGET', key, unpack(fields))
  for n = 1, #fields do
    local field, value = fields[n], tonumber(values[n] or 0)
    local sum = value + of_key[field]
    if value >= MOST_EXACT or value <= -MOST_EXACT or sum >= MOST_EXACT or sum <= -MOST_EXACT then
      large = large or {}
      large[field] = of_key[field]
    elseif sum == 0 then
      gone = gone or {}
      gone[#gone + 1] = field
    else
      local last = #set
      set[last + 1], set[last + 2] = field, texts[sum] or text_of(sum)
    end
  end
  if #set > 0 then
    redis.call('HSET', key, unpack(set))
  end
  if large then
    add_one_by_one(key, large)
  end
  return gone
end

-- As many fields as are cheaper one by one, and as many as Lua's stack holds with their values.
local FEW_FIELDS, MOST_FIELDS = 2, 3000

-- Adds to the counts of the call's hashes. Counts that become 0 are removed.
local function write_counts(counts)
  for key, of_key in pairs(counts) do
    local size = 0
    for _, added in pairs(of_key) do
      size = added == 0 and size or size + 1
    end
    local add = size > FEW_FIELDS and size <= MOST_FIELDS and add_together or add_one_by_one
    local gone = add(KEYS[key], of_key)
    if gone then
      redis.call('HDEL', KEYS[key], unpack(gone))
    end
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
-- Returns: the packed leaderboards, and where the words go on.
local function write_record(words, at, arg, records, moving)
  local head, ranked, words_end = ARGV[arg + RECORD_BYTES.head], write_moves(words, at, moving)
  local last = #records
  records[last + 1] = head
  records[last + 2] = (words[at] and head ~= '') and ranked or ''
  records[last + 3] = ARGV[arg + RECORD_BYTES.tail]
  return ranked, words_end
end

-- Writes the records of a block. Returns: their packed leaderboards, one after the other.
local function write_records(words, first_arg, records, moving)
  local boards, at, arg = '', words[BLOCK.records], first_arg + BLOCK_BYTES.records
  for n = 1, words[BLOCK.recordCount] do
    local ranked
    ranked, at = write_record(words, at, arg, records, moving)
    arg = arg + RECORD_BYTES.size
    boards = n == 1 and ranked or boards .. ranked
  end
  return boards
end

-- Writes the records of the blocks in an order of the blocks. Sets the replies of those that are written.
local function write_in_order(order, blocks, first_args, replies, records, moving)
  local ats, args = {}, {}
  for i = 1, #order do
    local n = order[i]
    local words = blocks[n]
    if words then
      local at, arg = ats[n] or words[BLOCK.records], args[n] or first_args[n] + BLOCK_BYTES.records
      local ranked
      ranked, ats[n] = write_record(words, at, arg, records, moving)
      args[n] = arg + RECORD_BYTES.size
      replies[n] = replies[n] and replies[n] .. ranked or ranked
    end
  end
end

local function main()
  local tenant_no, retry_position, is_wide, block_count, order, step = cmsgpack.unpack(ARGV[COMMIT_ARG.call])
  local outbox, users = KEYS[COMMIT_KEY.outbox], COMMIT_KEY.users - 1
  -- With room for one block.
  local replies, blocks, first_args = { nil, nil }, { nil }, { nil }
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
  local all_hold, arg = true, COMMIT_ARG.bytes
  for n = 1, block_count do
    local words, expected = words_of(ARGV[arg]), ARGV[arg + BLOCK_BYTES.expected]
    local reply = retried and earlier_records(words, retried)
    if not reply then
      reply = refusal_of(words, expected, states[n])
      all_hold = all_hold and not reply
    end
    replies[n] = reply
    blocks[n], first_args[n] = not reply and words, arg
    arg = arg + BLOCK_BYTES.records + RECORD_BYTES.size * words[BLOCK.recordCount]
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
  local moving = { keys = KEYS, unheard = unheard, is_wide = is_wide, scores = {}, thresholds = {} }
  local changed, of_users = { nil, nil }, { nil, nil, nil, nil }
  local counts, records, deleted = {}, { nil, nil, nil }, nil
  for n = 1, block_count do
    local words, state, key = blocks[n], ARGV[first_args[n] + BLOCK_BYTES.state], KEYS[users + n]
    if words then
      if words[BLOCK.deletes] then
        deleted = deleted or {}
        deleted[#deleted + 1] = key
      elseif state ~= '' then
        changed[#changed + 1], changed[#changed + 2] = key, state
        local last = #of_users
        of_users[last + 1], of_users[last + 2] = OUTBOX.user, words[BLOCK.userId]
        of_users[last + 3], of_users[last + 4] = OUTBOX.state, state
      end
      add_counts(words, counts)
      if not is_plain(words) then
        note_times(words, words[BLOCK.times], words[BLOCK.ids])
        note_uses(words)
        set_fields(words)
      end
    end
  end

  -- The records and their moves, in the order in which they happened. The replies to written blocks: the packed leaderboards of all
  -- their records.
  if order then
    write_in_order(order, blocks, first_args, replies, records, moving)
  end
  for n = 1, block_count do
    if blocks[n] and not order then
      replies[n] = write_records(blocks[n], first_args[n], records, moving)
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

  if #changed > 0 then
    redis.call('MSET', unpack(changed))
  end
  if deleted then
    redis.call('DEL', unpack(deleted))
  end
  write_scores(moving)
  write_counts(counts)
  local packed = table.concat(records)
  replies[block_count + 1] =
    redis.call('XADD', outbox, '*', OUTBOX.tenant, tenant_no, OUTBOX.records, packed, unpack(of_users))
  if step then
    finish_step(step, ARGV[arg])
  end
  return replies
end
