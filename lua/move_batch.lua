--[[
Moves a batch of events from the queue of a shard to the end of another's, on the same server; with how far it is processed, and what
became of its events.

KEYS: 1 the queue that holds it, 2 that shard's progress, 3 the batch's results there, 4 the other queue, 5 its shard's progress,
6 the results there.
ARGV: 1 the batch's ID.
Returns: 1; 0, and nothing is done, where the queue does not hold it (any more).
Errors: those of Redis only.
Writes: all of KEYS but 2.
Cost: O(size of the batch).
]]
local queue, progress, results = KEYS[1], KEYS[2], KEYS[3]
local to_queue, to_progress, to_results = KEYS[4], KEYS[5], KEYS[6]
local id = ARGV[1]

local entries = redis.call('XRANGE', queue, id, id)
local entry = entries[1]
if not entry then
  return 0
end
local fields = entry[2]
local added = redis.pcall('XADD', to_queue, id, unpack(fields))
if added.err then
  -- The other queue has later ones already: it goes behind them.
  added = redis.call('XADD', to_queue, '*', unpack(fields))
end
local before, events = (redis.call('GET', progress) or ''):match('^([^:]*):(%d+)$')
if before == id then
  redis.call('SET', to_progress, added .. ':' .. events, 'NX')
end
if redis.call('EXISTS', results) == 1 and added == id then
  redis.call('RENAME', results, to_results)
end
redis.call('XDEL', queue, id)
return 1
