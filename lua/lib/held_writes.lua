--- @include "remembered"

--[[
Writes that wait for the end of a call, so that few commands make them: a ZADD per sorted set instead of one per event. This takes
2 to 12 % off Redis's CPU (demo catalog, 20 events per call). Only scores whose rank nobody needs during the call, and counts, are
held. Every script that writes ends with `write_users`, which makes the held writes.

Points totals are counts in a hash, not a sorted set of users (104 bytes per user), because nobody is ranked by totals; a leaderboard
of points has its own set. Level 0 counts the users of each total, level 1 the users of each range of TOTALS.width totals, and so on.
Each level also counts its users. Block 0 of a level and counts of 0 are not stored. The number of users with at least a given total
is the sum of at most TOTALS.width counts per level. `totalFields` (src/redis/lua-library.ts) builds the same fields.
]]

-- The field of a block of a level. Formatting one takes 1,000 instructions, and a summary reads hundreds, mostly the same ones, so
-- they are cached. A full cache is cleared.
local total_field
do
  local FORMATS = { [0] = '%d', 'a%d', 'b%d', 'c%d', 'd%d', 'e%d', 'f%d', 'g%d', 'h%d', 'i%d' }
  local MOST_FIELDS = 4096
  local fields, count = {}, 0

  total_field = function(level, block)
    -- Exact, since blocks of a level above 0 are below 2^45.
    local at = block + level / 16
    local field = fields[at]
    if not field then
      if count == MOST_FIELDS then
        fields, count = {}, 0
      end
      field = string.format(FORMATS[level], block)
      fields[at], count = field, count + 1
    end
    return field
  end
end

local function level_field(level)
  return level == 0 and TOTALS.holders or TOTALS.level .. level
end

-- The number to add to each field. `moved`: total → change in the number of users who have it.
local function total_counts(moved)
  local counts, level = {}, 0
  while moved do
    local above, users = nil, 0
    for block, added in pairs(moved) do
      if added ~= 0 then
        counts[total_field(level, block)] = added
        users = users + added
        if block >= TOTALS.width then
          above = above or {}
          local wider = math.floor(block / TOTALS.width)
          above[wider] = (above[wider] or 0) + added
        end
      end
    end
    if users ~= 0 then
      counts[level_field(level)] = users
    end
    moved, level = above, level + 1
  end
  return counts
end

-- The held writes of one kind. Callers that run many times per event use `this_call.<kind> or held('<kind>')`, because the function
-- call would cost more than everything else.
local function held(kind)
  local all = this_call[kind]
  if not all then
    all = {}
    this_call[kind] = all
  end
  return all
end

-- Holds a member's score. Call `write_held` before the set itself is read or written.
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

-- Adds to a count in a hash; 1 by default. A count that becomes 0 is removed.
local function hold_count(key, field, added)
  local all = this_call.counts or held('counts')
  local counts = all[key]
  if not counts then
    counts = {}
    all[key] = counts
  end
  counts[field] = (counts[field] or 0) + (added or 1)
end

-- Moves a user from one total of a points system to another; 0 means no points.
local function hold_total(key, before, after)
  local totals = this_call.totals or held('totals')
  local moved = totals[key]
  if not moved then
    moved = {}
    totals[key] = moved
  end
  if before > 0 then
    moved[before] = (moved[before] or 0) - 1
  end
  if after > 0 then
    moved[after] = (moved[after] or 0) + 1
  end
end

-- Writes what is held for a sorted set. Of two scores of one member, the later one wins.
local function write_held(key)
  local scores = this_call.scores or held('scores')
  local list = scores[key]
  if list then
    scores[key] = nil
    redis.call('ZADD', key, unpack(list))
  end
end

-- Adds the held counts to a hash, field by field. Reading all, adding in Lua and writing all takes more instructions, both
-- with 1 and with 64 events per call (`npm run bench:instructions`).
local function write_counts(key, counts)
  local gone
  for field, added in pairs(counts) do
    if added ~= 0 and redis.call('HINCRBY', key, field, text_of(added)) == 0 then
      gone = gone or {}
      gone[#gone + 1] = field
    end
  end
  if gone then
    redis.call('HDEL', key, unpack(gone))
  end
end

local function write_all_held()
  for key in pairs(held('scores')) do
    write_held(key)
  end
  for key, counts in pairs(held('counts')) do
    write_counts(key, counts)
  end
  for key, moved in pairs(held('totals')) do
    write_counts(key, total_counts(moved))
  end
end
