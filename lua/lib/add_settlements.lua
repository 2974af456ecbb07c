-- What was settled first (see settle_streaks; nil for nothing) and what was settled after it, as one.
local function add_settlements(first, after)
  if not first or not after then
    return first or after
  end
  for _, each in ipairs(after) do
    first[#first + 1] = each
  end
  first.earned = (first.earned or 0) + (after.earned or 0)
  for _, each in ipairs(after.beside or {}) do
    first.beside = first.beside or {}
    first.beside[#first.beside + 1] = each
  end
  return first
end
