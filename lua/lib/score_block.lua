--- @include "run_place"

-- The user's score in a run of a board: a list and the index in it. It is made, with score 0, where there is none; then, and
-- where there are runs before `oldest`, the board's scores are a list of their own, which `blocks` gets: `with_blocks` puts them
-- all in their places at once, so that the first event of a day with 100 new runs costs no more than one walk.
-- `oldest`: first day of the oldest run that still takes events anywhere; scores of runs before it are dropped: Postgres holds
-- their final scores. So at most three are kept: a user who crosses the date line may go back to the run before the last.
-- `from`: see `board_place`.
local function score_block(scores, no, run_day, oldest, from, blocks)
  local first = board_place(scores, no, from)
  local behind, place = first, nil
  while scores[behind] == no do
    if scores[behind + SCORE.runDay] == run_day then
      place = behind
    end
    behind = behind + SCORE.size
  end
  -- The oldest run comes last.
  if place and scores[behind - SCORE.size + SCORE.runDay] >= oldest then
    return scores, place
  end
  local block, slot = {}, nil
  for at = first, behind, SCORE.size do
    local day = at < behind and scores[at + SCORE.runDay]
    if not slot and (not day or day <= run_day) then
      slot = #block + 1
      if day ~= run_day or day < oldest then
        block[slot + SCORE.board], block[slot + SCORE.runDay], block[slot + SCORE.group] = no, run_day, ''
        block[slot + SCORE.whole], block[slot + SCORE.micros] = 0, 0
      end
    end
    if day and day >= oldest then
      local free = #block + 1
      for offset = 0, SCORE.size - 1 do
        block[free + offset] = scores[at + offset]
      end
    end
  end
  blocks[#blocks + 1] = { first, behind, block }
  return block, slot
end

-- The scores with blocks, by the order of their boards, instead of what is at their places.
local function with_blocks(scores, blocks)
  local list, size, at = {}, 0, 1
  local function take(from, first, last)
    for place = first, last do
      size = size + 1
      list[size] = from[place]
    end
  end
  for i = 1, #blocks do
    local first, behind, block = unpack(blocks[i])
    take(scores, at, first - 1)
    take(block, 1, #block)
    at = behind
  end
  take(scores, at, #scores)
  return list
end
