-- The double nearest to a decimal, as a score: equal decimals give equal scores.
local function decimal_score(whole, micros)
  if micros == 0 then
    return whole
  end
  local sign = (whole < 0 or micros < 0) and '-' or ''
  return tonumber(string.format('%s%d.%06d', sign, math.abs(whole), math.abs(micros)))
end
