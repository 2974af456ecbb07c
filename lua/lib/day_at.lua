-- The user's local day at an earlier time (epoch ms). `left`: the zone's offset (seconds) that held before the state's, and
-- until when (epoch ms; nil: it ends never); nil for none.
local function day_at(state, at, left)
  local offset = left and left[LEFT.untilMs] and at < left[LEFT.untilMs] and left[LEFT.offsetSeconds]
    or state[USER.offsetSeconds]
    or 0
  return math.floor((at + offset * 1000) / 86400000)
end
