--- @include "text_of"

-- Writes that wait for the end of a call, to be made by few commands: an event had eight commands, two or three of them
-- ZADD and as many ZREVRANGE, and has three (demo catalog, 20 events a call, 30,000 users, with the reads and writes of
-- users taken together too; old and new in turn: 0.95 to 0.98 of Redis's CPU without AOF, 0.88 with it; direct calls of
-- `npm run bench`). What is left is mostly ZADD's own work, 8 µs each among so many members.
-- Held are scores whose place in their set nobody asks for meanwhile, and counts. All that writes ends with
-- `write_users`, which makes them.

-- What is kept of one kind until the end of the call. Asked for many times an event, by `this_call.<kind> or held('<kind>')`:
-- calling a function takes more than all else.
local function held(kind)
  local all = this_call[kind]
  if not all then
    all = {}
    this_call[kind] = all
  end
  return all
end

-- Holds a member's score back. To be followed by `write_held` before the set itself is read or written.
local function hold_score(key, score, member)
  local scores = this_call.scores or held('scores')
  local list = scores[key]
  if not list then
    list = {}
    scores[key] = list
  end
  local count = #list
  list[count + 1], list[count + 2] = text_of(score), member
end

-- Adds to a count in a hash, 1 by default.
local function hold_count(key, field, added)
  local all = this_call.counts or held('counts')
  local counts = all[key]
  if not counts then
    counts = {}
    all[key] = counts
  end
  counts[field] = (counts[field] or 0) + (added or 1)
end

-- Makes what is held for a sorted set; of two scores of a member the later one wins.
local function write_held(key)
  local scores = this_call.scores or held('scores')
  local list = scores[key]
  if list then
    scores[key] = nil
    redis.call('ZADD', key, unpack(list))
  end
end

-- Makes all that is held.
local function write_all_held()
  for key in pairs(held('scores')) do
    write_held(key)
  end
  for key, counts in pairs(held('counts')) do
    for field, count in pairs(counts) do
      redis.call('HINCRBY', key, field, text_of(count))
    end
  end
end
