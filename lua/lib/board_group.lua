-- '1:', '2:', …: making text of a number costs as much as the rest.
local LENGTHS = {}
for length = 1, 64 do
  LENGTHS[length] = length .. ':'
end

-- The group of a user on a board: the values of its breakdown attributes, each with its length before it so
-- that no two groups share a name; '' without breakdown; nil if the user lacks a value.
local function board_group(board, attributes)
  local groups = board.groups
  if not groups then
    return ''
  end
  if #groups == 1 then
    local value = attributes and attributes[groups[1]]
    return value and (LENGTHS[#value] or #value .. ':') .. value
  end
  local parts = {}
  for i, no in ipairs(groups) do
    local value = attributes and attributes[no]
    if not value then
      return nil
    end
    parts[i] = #value .. ':' .. value
  end
  return table.concat(parts, ',')
end
