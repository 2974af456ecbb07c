-- Whether a decimal is at least another one.
local function decimal_reaches(whole, micros, other_whole, other_micros)
  return whole > other_whole or (whole == other_whole and micros >= other_micros)
end
