--[[
Counts the users of a points system by ranges of points, in one consistent snapshot.

KEYS: 1 counters of the tenant, 2 counts of the system's totals (hash).
ARGV: two per range: minimum and maximum points; Infinity for no maximum.
Returns: the tenant's number of users, the number of users with points, the greatest total (0 if there is none), then the number of
      users in each range. Users without points are in no range.
Errors: those of Redis only.
Writes: nothing.
Cost: O(ranges × digits of their bounds).

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

-- The counts in some fields, in their order; 0 for missing fields.
local function counts_of(key, fields)
  local counts = redis.call('HMGET', key, unpack(fields))
  for n = 1, #fields do
    counts[n] = tonumber(counts[n] or 0)
  end
  return counts
end

-- The number of users with a total of at least `from` and more than 0. `greatest`: the greatest total.
-- Cost: O(digits of `from` × TOTALS.width), independent of the number of users.
local function users_from(key, from, greatest)
  local fields, level, block, last = {}, 0, math.max(math.ceil(from), 1), greatest
  if block > last then
    return 0
  end
  -- Read single blocks until a block of the next level begins. Block 1 and all later blocks together are the count of a level.
  while block > 1 and block <= last do
    while block % TOTALS.width ~= 0 and block <= last do
      fields[#fields + 1], block = total_field(level, block), block + 1
    end
    block, last, level = math.ceil(block / TOTALS.width), math.floor(last / TOTALS.width), level + 1
  end
  if block == 1 and last >= 1 then
    fields[#fields + 1] = level_field(level)
  end
  local users = 0
  for _, count in ipairs(counts_of(key, fields)) do
    users = users + count
  end
  return users
end

-- The last block of a level, from `first` to `last`, with a count above 0.
local function last_block(key, level, first, last)
  local fields = {}
  for block = first, last do
    fields[#fields + 1] = total_field(level, block)
  end
  local counts = counts_of(key, fields)
  for n = #counts, 1, -1 do
    if counts[n] > 0 then
      return first + n - 1
    end
  end
end

-- The greatest total of any user; 0 if nobody has points. Cost: O(its digits × TOTALS.width).
local function greatest_total(key)
  local fields = {}
  for level = 0, TOTALS.levels - 1 do
    fields[level + 1] = level_field(level)
  end
  local counted = counts_of(key, fields)
  local level = TOTALS.levels - 1
  while level >= 0 and counted[level + 1] == 0 do
    level = level - 1
  end
  local block = 0
  while level >= 0 do
    block = last_block(key, level, math.max(block * TOTALS.width, 1), (block + 1) * TOTALS.width - 1)
    level = level - 1
  end
  return block
end

local counters, totals = unpack(KEYS)
local greatest = greatest_total(totals)
-- Most ranges begin where another one ends, so cache the results.
local known = {}
local function users_of(from)
  known[from] = known[from] or users_from(totals, from, greatest)
  return known[from]
end

local counts = { tonumber(redis.call('HGET', counters, COUNTER.users) or 0), users_of(1), greatest }
for at = 1, #ARGV, 2 do
  local least, most = unpack(ARGV, at, at + 1)
  local from, behind = tonumber(least), tonumber(most) + 1
  counts[#counts + 1] = from < behind and users_of(from) - users_of(behind) or 0
end
return counts
