-- Whether all conditions { attribute no, value } hold for a user's attributes; no conditions always hold.
local function holds(conditions, attributes)
  if conditions then
    for i = 1, #conditions do
      local condition = conditions[i]
      if not attributes or attributes[condition[CONDITION.attribute]] ~= condition[CONDITION.value] then
        return false
      end
    end
  end
  return true
end
