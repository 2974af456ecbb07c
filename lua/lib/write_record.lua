--- @include "held_writes"
--- @include "move_points"
--- @include "rank_boards"

-- Writes what a record says to the tenant's counters, points totals and boards (`changes` of score_boards), and
-- adds the ranks to it (`unheard`: see rank_boards); some of it only with `write_users`, which must follow. Returns: the
-- record, packed.
local function write_record(record, changes, counters, points_prefix, board_prefix, unheard)
  -- An event's is a list, the others are maps.
  local is_event = record[EVENT_RECORD.kind] == KIND.event
  local few = not is_event and record or record[EVENT_RECORD.more]
  if few and few[RECORD.isNew] then
    hold_count(counters, COUNTER.users)
  end
  local completed = few and few[RECORD.completed]
  for i = 1, completed and #completed or 0 do
    hold_count(counters, COUNTER.completions .. completed[i])
  end
  if is_event then
    local user_id = record[EVENT_RECORD.userId]
    move_points(record[EVENT_RECORD.points], points_prefix)
    record[EVENT_RECORD.boards] = rank_boards(changes, user_id, board_prefix, unheard)
  else
    move_points(record[RECORD.points], points_prefix)
    record[RECORD.boards] = rank_boards(changes, record[RECORD.userId], board_prefix, unheard)
  end
  return cmsgpack.pack(record)
end
