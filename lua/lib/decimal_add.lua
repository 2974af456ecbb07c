-- Adds two decimals. A decimal is whole units and millionths of the same sign, see src/domain/decimal.ts.
-- Returns: whole, micros of the sum; exact while |whole| < 2^53.
local function decimal_add(whole, micros, other_whole, other_micros)
  whole = whole + other_whole
  micros = micros + other_micros
  if micros >= 1000000 then
    whole, micros = whole + 1, micros - 1000000
  elseif micros <= -1000000 then
    whole, micros = whole - 1, micros + 1000000
  end
  if whole > 0 and micros < 0 then
    return whole - 1, micros + 1000000
  elseif whole < 0 and micros > 0 then
    return whole + 1, micros - 1000000
  end
  return whole, micros
end
