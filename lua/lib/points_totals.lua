--[[
How many users of a tenant hold which total of a points system: counts in a hash, not a sorted set of the users, since nobody
is ranked by totals (a leaderboard of points has a set of its own). So it grows with the totals that occur, not with the
users, each of whom took 104 bytes.

Level 0 counts the users of each total, level 1 those of each TOTALS.width totals in a row, and so on; block 0 of a level is
not counted. So a total is counted on as many levels as it has digits to that base, and each level counts its users besides.
Those from a total on are the sum of at most TOTALS.width counts a level. Most changes of a total touch two or three
counts. A count of 0 is no field. `totalFields` (src/redis/points-totals.ts) knows the same fields.
]]

-- Field of a block by level.
local FORMATS = { [0] = '%d', 'a%d', 'b%d', 'c%d', 'd%d', 'e%d', 'f%d', 'g%d', 'h%d', 'i%d' }

-- Fields as texts, which take 1,000 instructions each: a summary asks for hundreds, mostly the same. Beyond so many all are forgotten.
local MOST_FIELDS = 4096
local total_fields, total_field_count = {}, 0

local function total_field(level, block)
  -- Exact, since blocks of a level above 0 are below 2^45.
  local at = block + level / 16
  local field = total_fields[at]
  if not field then
    if total_field_count == MOST_FIELDS then
      total_fields, total_field_count = {}, 0
    end
    field = string.format(FORMATS[level], block)
    total_fields[at], total_field_count = field, total_field_count + 1
  end
  return field
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
