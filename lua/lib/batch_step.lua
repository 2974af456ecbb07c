--- @include "live_streams"

-- A call may be one step of a queued batch: it applies the next events of the batch and moves the shard's progress,
-- all or nothing, and only from where the caller saw it. So a step that is sent twice, or late, changes nothing.
-- `keys` from `key` on (BATCH_KEY): progress of the shard's batches (string), the queued batches (stream), results (hash),
-- tenants whose live streams somebody listens to (hash).
-- `args` from `arg` on (BATCH_ARG): progress expected ('' if there never was any), progress afterwards, ID of the batch if
-- the step is its last ('' if not), what is wanted of results: '' nothing, else JSON { at = indexes in the batch of the
-- call's events, refused = a list of UNSENT_EVENT for events that were not sent here }.
-- Returns: the step; `passed`: the progress is elsewhere; `unheard`: nobody listens to ranks of the tenant. Answers to
-- events of batches hold no ranks.
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

-- Results are kept for a minute: a caller that waits for them looks many times a second.
local RESULTS_SECONDS = 60

-- Writes the step's part: progress, results, and the end of the batch.
local function close_batch_step(step, replies)
  redis.call('SET', step.progress, step.after)
  if step.finished ~= '' then
    redis.call('XDEL', step.queue, step.finished)
  end
  local wanted, results = step.wanted, step.results
  if not wanted then
    return
  end
  -- One field a step: 1,000 fields of an event each cost Redis 5 µs an event, and as many lines of its log.
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
