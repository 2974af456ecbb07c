-- The double nearest to a decimal, as a score: equal decimals give equal scores.
local function decimal_score(whole, micros)
  if micros == 0 then
    return whole
  end
  -- An integer below 2^53 is exact, and a quotient of two such the double nearest to it; text takes four times as long.
  if whole < 9007199254 and whole > -9007199254 then
    return (whole * 1000000 + micros) / 1000000
  end
  local sign = (whole < 0 or micros < 0) and '-' or ''
  return tonumber(string.format('%s%d.%06d', sign, math.abs(whole), math.abs(micros)))
end
