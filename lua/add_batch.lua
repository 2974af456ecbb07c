--[[
Appends a batch of events to its shard's queue. The call is guarded by the caller's belief (src/redis/script.ts), so no batch is
accepted on a shard that was emptied or moved, where nobody would process it.

KEYS: 1 the queued batches (stream).
ARGV: 1 maximum number of queued batches, then the fields and values of the batch (QUEUED_BATCH).
Returns: the batch's ID; nil if the queue is full, in which case nothing is written.
Errors: those of Redis only.
Writes: the queued batches.
Cost: O(size of the batch).
]]
local queue, limit = unpack(KEYS), unpack(ARGV)
local FIRST_FIELD = 2
if redis.call('XLEN', queue) >= tonumber(limit) then
  return nil
end
return redis.call('XADD', queue, '*', unpack(ARGV, FIRST_FIELD))
