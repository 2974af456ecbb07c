--- @include "held_writes"
--- @include "move_points"
--- @include "rank_boards"

-- Writes what a record says to the tenant's counters, points sets and boards (`changes` of score_boards), and
-- adds the ranks to it (`unheard`: see rank_boards); some of it only with `write_users`, which must follow. Returns: the
-- record, packed.
local function write_record(record, changes, counters, points_prefix, board_prefix, unheard)
  if record[RECORD.isNew] then
    hold_count(counters, COUNTER.users)
  end
  local completed = record[RECORD.completed]
  for i = 1, completed and #completed or 0 do
    hold_count(counters, COUNTER.completions .. completed[i])
  end
  move_points(record[RECORD.points], record[RECORD.userId], points_prefix)
  record[RECORD.boards] = rank_boards(changes, record[RECORD.userId], board_prefix, unheard)
  return cmsgpack.pack(record)
end
