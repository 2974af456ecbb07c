-- First day (epoch day) of a month, given as year * 12 + month from 0; as `periodStart` of src/domain/periods.ts.
local function month_start(month)
  -- Years that begin in March have their leap day at the end.
  local year, from_march = math.floor((month - 2) / 12), (month - 2) % 12
  local leap_days = math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
  return year * 365 + leap_days + math.floor((from_march * 153 + 2) / 5) - 719468
end
