--- @include "streak_at"

-- Takes a user's packed state apart: a list by USER, for `pack_state`.
local function unpack_state(packed)
  return { cmsgpack.unpack(packed) }
end

-- Packs a state. What a user lacks behind the last that there is takes no place.
local function pack_state(state)
  for last = STATE.size, 1, -1 do
    if state[last] ~= nil then
      return cmsgpack.pack(unpack(state, 1, last))
    end
  end
end
