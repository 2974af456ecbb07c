-- Adds two decimals. A decimal is whole units and millionths of the same sign; see src/domain/decimal.ts.
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

-- Whether a decimal is at least another one.
local function decimal_reaches(whole, micros, other_whole, other_micros)
  return whole > other_whole or (whole == other_whole and micros >= other_micros)
end

-- The double nearest to a decimal, as a score: equal decimals give equal scores.
local function decimal_score(whole, micros)
  if micros == 0 then
    return whole
  end
  -- Integers below 2^53 are exact, and their quotient is the nearest double. Going through text takes four times as long.
  if whole < 9007199254 and whole > -9007199254 then
    return (whole * 1000000 + micros) / 1000000
  end
  local sign = (whole < 0 or micros < 0) and '-' or ''
  return tonumber(string.format('%s%d.%06d', sign, math.abs(whole), math.abs(micros)))
end

-- A decimal, limited to the range of sums. For sums that cannot refuse an event: scores of points, which have their own maximum, and
-- sums over history.
-- Returns: whole, micros.
local function clamped(whole, micros)
  if whole >= LIMIT.sum then
    return LIMIT.sum - 1, 0
  elseif whole <= -LIMIT.sum then
    return 1 - LIMIT.sum, 0
  end
  return whole, micros
end

-- Removes a value from the running total `no` of a table of totals. A positive value also lowers the peak, a negative one
-- does not; the peak never falls below the remaining total, so that what is earned again counts again. Exact unless values
-- of both signs occur.
local function take_from_total(totals, no, whole, micros)
  local total = totals[no]
  if not total then
    return
  end
  local peak = total[TOTAL.peak] or math.max(total[TOTAL.whole], 0)
  if whole > 0 then
    peak = peak - whole
  end
  total[TOTAL.whole], total[TOTAL.micros] = decimal_add(total[TOTAL.whole], total[TOTAL.micros], -whole, -micros)
  total[TOTAL.peak] = peak > total[TOTAL.whole] and peak > 0 and peak or nil
end

-- Sums that grow with events (totals, counts of matching events, sums of periods, scores) stay below LIMIT.sum in both directions.
-- So they have at most 15 digits before the decimal point, and the difference of two of them is exact (below 2^53).

-- Whether adding a value has taken a sum (its whole part) out of range, or further out. A sum that was out of range may come back.
local function leaves_range(sum, whole, micros)
  return sum >= LIMIT.sum and (whole > 0 or micros > 0) or sum <= -LIMIT.sum and (whole < 0 or micros < 0)
end
