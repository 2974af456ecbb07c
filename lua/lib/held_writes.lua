--- @include "remembered"

--[[
How many users of a tenant hold which total of a points system: counts in a hash, not a sorted set of the users, since nobody
is ranked by totals (a leaderboard of points has a set of its own). So it grows with the totals that occur, not with the
users, each of whom took 104 bytes.

Level 0 counts the users of each total, level 1 those of each TOTALS.width totals in a row, and so on; block 0 of a level is
not counted. So a total is counted on as many levels as it has digits to that base, and each level counts its users besides.
Those from a total on are the sum of at most TOTALS.width counts a level. Most changes of a total touch two or three
counts. A count of 0 is no field. `totalFields` (src/redis/lua-library.ts) knows the same fields.
]]

-- Field of a block of a level. Making one takes 1,000 instructions, and a summary asks for hundreds, mostly the same: beyond so
-- many all are forgotten.
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

-- What is to be added to which field. `moved`: by total how many users have it who had not, less than 0: who had it.
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

-- Adds to a count in a hash, 1 by default. One that comes to 0 is no field any more.
local function hold_count(key, field, added)
  local all = this_call.counts or held('counts')
  local counts = all[key]
  if not counts then
    counts = {}
    all[key] = counts
  end
  counts[field] = (counts[field] or 0) + (added or 1)
end

-- Counts a user for another total of a points system (`points_totals`), 0 for none.
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

-- Makes what is held for a sorted set; of two scores of a member the later one wins.
local function write_held(key)
  local scores = this_call.scores or held('scores')
  local list = scores[key]
  if list then
    scores[key] = nil
    redis.call('ZADD', key, unpack(list))
  end
end

-- Adds what is held to the counts of a hash. One by one: reading all, adding in Lua and writing all takes more instructions, at 1
-- and at 64 events a call (`npm run bench:instructions`).
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

-- Makes all that is held.
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
