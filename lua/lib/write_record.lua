--- @include "move_points"
--- @include "rank_boards"

-- Writes what a record says to the tenant's counters, points sets and boards (`changes` of score_boards), and
-- adds the ranks to it. Returns: the record, packed.
local function write_record(record, changes, counters, points_prefix, board_prefix)
  if record.n then
    redis.call('HINCRBY', counters, 'users', 1)
  end
  for _, no in ipairs(record.c or {}) do
    redis.call('HINCRBY', counters, 'a' .. no, 1)
  end
  move_points(record.p, record.u, points_prefix)
  record.b = rank_boards(changes, record.u, board_prefix)
  return cmsgpack.pack(record)
end
