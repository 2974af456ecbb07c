-- A call may be one step of a queued batch: it applies the next events of the batch and moves the shard's progress,
-- all or nothing, and only from where the caller saw it. So whoever sends a step twice, or late, changes nothing.
-- KEYS from `key`: progress of the shard's batches (string), the queued batches (stream), results (hash).
-- ARGV from `arg`: progress expected ('' if there never was any), progress afterwards, ID of the batch if the step
-- is its last ('' if not), what is wanted of results: '' nothing, else JSON { at = indexes in the batch of the
-- call's events, refused = a list of { index, status, text } for events that were not sent here }.
-- Returns: the step; `passed`: the progress is elsewhere.
local function open_batch_step(key, arg)
  local step = { key = key, after = ARGV[arg + 1], finished = ARGV[arg + 2] }
  step.results = ARGV[arg + 3] ~= '' and cjson.decode(ARGV[arg + 3])
  step.passed = (redis.call('GET', KEYS[key]) or '') ~= ARGV[arg]
  return step
end

-- Results are kept for a minute: whoever waits for them looks many times a second.
local RESULTS_SECONDS = 60

-- Field of the results that counts the events answered; the others are a step's each, named by the progress after it.
local ANSWERED = 'n'

-- Writes the step's part: progress, results, and the end of the batch.
local function close_batch_step(step, replies)
  redis.call('SET', KEYS[step.key], step.after)
  if step.finished ~= '' then
    redis.call('XDEL', KEYS[step.key + 1], step.finished)
  end
  local wanted, results = step.results, KEYS[step.key + 2]
  if not wanted then
    return
  end
  -- One field a step: 1,000 fields of an event each cost Redis 5 µs an event, and as many lines of its log.
  local answers = { '', unpack(replies, 1, #wanted.at) }
  for _, refused in ipairs(wanted.refused) do
    wanted.at[#wanted.at + 1] = refused[UNSENT_EVENT.index]
    answers[#answers + 1] = cmsgpack.pack({
      [RECORD.kind] = REFUSAL.unsent,
      [UNSENT.status] = refused[UNSENT_EVENT.status],
      [UNSENT.message] = refused[UNSENT_EVENT.message],
    })
  end
  answers[1] = cmsgpack.pack(wanted.at)
  redis.call('HSET', results, step.after, table.concat(answers))
  redis.call('HINCRBY', results, ANSWERED, #wanted.at)
  redis.call('EXPIRE', results, RESULTS_SECONDS)
end
