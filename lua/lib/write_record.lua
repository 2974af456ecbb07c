--- @include "held_writes"
--- @include "move_points"
--- @include "rank_boards"

-- Writes what a record says to the tenant's counters, points sets and boards (`changes` of score_boards), and
-- adds the ranks to it; some of it only with `write_users`, which must follow. Returns: the record, packed.
local function write_record(record, changes, counters, points_prefix, board_prefix)
  if record.n then
    hold_count(counters, 'users')
  end
  for _, no in ipairs(record.c or {}) do
    hold_count(counters, 'a' .. no)
  end
  move_points(record.p, record.u, points_prefix)
  record.b = rank_boards(changes, record.u, board_prefix)
  return cmsgpack.pack(record)
end
