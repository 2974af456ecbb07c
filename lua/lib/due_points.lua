-- What of the planned points is to be moved now: without those for achievements that did not change, and in no system more than
-- it may hold. `planned`: awards, a list of { award (COMPENSATED), achievement (a number, or nil) }; keeps: no total may be
-- lowered. `changed`: the achievements that did, { [number] = true }. `limits`: maxima by system no, as text.
-- Returns: a list of COMPENSATED.
local function due_points(state, planned, changed, limits)
  local systems, of_system = {}, {}
  for _, each in ipairs(planned.awards) do
    if not each.achievement or changed[each.achievement] then
      local no = each.award[COMPENSATED.system]
      local list = of_system[no]
      if not list then
        list = { no = no, given = 0 }
        of_system[no], systems[#systems + 1] = list, list
      end
      list[#list + 1] = each.award
      list.given = list.given - each.award[COMPENSATED.points]
    end
  end
  local due = {}
  for _, list in ipairs(systems) do
    local total = state[USER.points][list.no] or 0
    local most = math.max(total, limits[tostring(list.no)] or LIMIT.sum - 1)
    local excess = total + list.given - most
    for _, award in ipairs(list) do
      local points = award[COMPENSATED.points]
      local cut = points < 0 and math.max(0, math.min(excess, -points)) or 0
      excess = excess - cut
      if points + cut ~= 0 and not (planned.keeps and list.given < 0) then
        due[#due + 1] =
          { award[COMPENSATED.award], list.no, award[COMPENSATED.trigger], points + cut, award[COMPENSATED.day] }
      end
    end
  end
  return due
end
