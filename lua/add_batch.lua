--[[
Puts a batch of events at the end of its shard's queue. Called with what the caller believes of the shard
(src/redis/script.ts), so that no batch is accepted where nobody would process it: the shard was emptied, or moved.

KEYS: 1 the queued batches (stream).
ARGV: 1 how many may wait, then the fields and values of the batch (QUEUED_BATCH).
Returns: the batch's ID; nil, and nothing is done, where that many wait.
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
