--- @include "live_streams"

-- A call may be one step of a queued batch. It applies the batch's next events and advances the shard's progress, all or nothing,
-- and only from the progress that the caller saw. A step that is sent twice or late therefore changes nothing.
-- `keys` from `key` on (BATCH_KEY): progress of the shard's batches (string), queued batches (stream), results (hash), tenants with
-- live listeners (hash).
-- `args` from `arg` on (BATCH_ARG): expected progress ('' if there was none yet), new progress, the batch's ID if this is its last
-- step (else ''), requested results: '' for none, else JSON { at = indexes of the call's events in the batch, refused = a list of
-- UNSENT_EVENT for events that the caller did not send }.
-- Returns: the step. `passed`: the progress differs from the expected one. `unheard`: nobody listens to the tenant's ranks; answers
-- to events of batches contain no ranks.
local function open_batch_step(tenant_no, keys, key, args, arg)
  local wanted = args[arg + BATCH_ARG.wanted]
  local step = {
    progress = keys[key + BATCH_KEY.progress],
    queue = keys[key + BATCH_KEY.queue],
    results = keys[key + BATCH_KEY.results],
    after = args[arg + BATCH_ARG.after],
    finished = args[arg + BATCH_ARG.finished],
    wanted = wanted ~= '' and cjson.decode(wanted),
  }
  step.unheard = not are_ranks_listened(keys[key + BATCH_KEY.listened], tenant_no)
  step.passed = (redis.call('GET', step.progress) or '') ~= args[arg + BATCH_ARG.expected]
  return step
end

-- A waiting caller polls for results many times a second.
local RESULTS_SECONDS = 60

-- Writes the step's own part: progress, results and the end of the batch.
local function close_batch_step(step, replies)
  redis.call('SET', step.progress, step.after)
  if step.finished ~= '' then
    redis.call('XDEL', step.queue, step.finished)
  end
  local wanted, results = step.wanted, step.results
  if not wanted then
    return
  end
  -- One field per step: a field per event would cost Redis 5 µs per event and one line of its log each.
  local answers = { '', unpack(replies, 1, #wanted.at) }
  for _, refused in ipairs(wanted.refused) do
    wanted.at[#wanted.at + 1] = refused[UNSENT_EVENT.index]
    answers[#answers + 1] = cmsgpack.pack({
      [RECORD.kind] = REFUSAL.unsent,
      [UNSENT.code] = refused[UNSENT_EVENT.code],
      [UNSENT.message] = refused[UNSENT_EVENT.message],
    })
  end
  answers[1] = cmsgpack.pack(wanted.at)
  redis.call('HSET', results, step.after, table.concat(answers))
  redis.call('HINCRBY', results, BATCH_RESULT.answered, #wanted.at)
  redis.call('EXPIRE', results, RESULTS_SECONDS)
end
