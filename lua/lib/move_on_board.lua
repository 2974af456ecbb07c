--- @include "held_writes"
--- @include "leave_board"
--- @include "text_of"

-- Moves a user on the sorted sets of a run: out of the old group into the new one, with the score there; a score
-- <= 0 is on none. The groups of a board with a breakdown are listed, for readers of a whole run: in a set
-- under the prefix of boards with `g` for its `b` (src/redis/keys.ts).
-- `change`: { board, run day, group, old group, old score, score }; an old score <= 0 stood on none.
-- `later`: the new score may be held back (see held_writes); without it, it is written.
local function move_on_board(change, user_id, prefix, key, later)
  local board, run_day, group = change[CHANGE.board], change[CHANGE.runDay], change[CHANGE.group]
  local old_group, old_score, score = change[CHANGE.oldGroup], change[CHANGE.oldScore], change[CHANGE.score]
  local stood = old_score > 0
  if stood and group ~= old_group then
    leave_board(prefix, board.no .. ':' .. run_day, old_group, user_id)
    stood = false
  end
  if score > 0 and later then
    hold_score(key, score, user_id)
  elseif score > 0 then
    write_held(key)
    redis.call('ZADD', key, text_of(score), user_id)
  elseif stood then
    leave_board(prefix, board.no .. ':' .. run_day, group, user_id)
  end
  if score > 0 and board.groups and not stood then
    redis.call('SADD', string.gsub(prefix, 'b:$', 'g:') .. board.no .. ':' .. run_day, group)
  end
end
