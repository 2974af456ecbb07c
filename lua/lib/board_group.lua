-- The group of a user on a board: the values of its breakdown attributes, each with its length before it so
-- that no two groups share a name; '' without breakdown; nil if the user lacks a value.
local function board_group(board, attributes)
  if not board.groups then
    return ''
  end
  local parts = {}
  for i, no in ipairs(board.groups) do
    local value = attributes and attributes[no]
    if not value then
      return nil
    end
    parts[i] = #value .. ':' .. value
  end
  return table.concat(parts, ',')
end
