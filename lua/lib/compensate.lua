-- Takes awarded points back, or gives them back if the points are negative. A total never falls below 0 nor rises above the
-- maximum. What cannot be taken is owed (positive) and offset against what later reversals give. What cannot be given is
-- owed too (negative) and offset against what they take. The result therefore does not depend on the order in which events
-- are reversed.
-- `awards`: a list of COMPENSATED; `held`: IDs of awards that stay unchanged; `limits`: maximum by system number (as text),
-- or nil to give and take exactly what `awards` says.
-- Writes: the state's points and what is owed. Returns: the changes, as RECORDED_POINTS; a list of SHORTFALL; by award ID,
-- the change of the total.
local function compensate(state, awards, held, limits)
  local stays = {}
  for _, award in ipairs(held) do
    stays[award] = true
  end
  local changed, of_system, moved_by = {}, {}, {}
  local owed = state[USER.owed] or {}
  -- Giving first leaves less to owe.
  for _, gives in ipairs({ true, false }) do
    for _, award in ipairs(awards) do
      local no, points = award[COMPENSATED.system], award[COMPENSATED.points]
      if (points < 0) == gives and not stays[award[COMPENSATED.award]] then
        local points_of = of_system[no]
        if not points_of then
          local total = state[USER.points][no] or 0
          points_of = { no, total, total, {} }
          of_system[no], changed[#changed + 1] = points_of, points_of
        end
        local total, owes = points_of[RECORDED_POINTS.after], owed[no] or 0
        -- First offset what is owed in the other direction.
        local left = math.abs(points)
        local off = math.min(left, math.max(gives and owes or limits and -owes or 0, 0))
        left = left - off
        local moved
        if gives then
          local most = limits and (limits[tostring(no)] or LIMIT.sum - 1) or math.huge
          moved = math.min(left, math.max(most - total, 0))
          owed[no] = owes - off - (left - moved)
        else
          moved = -math.min(left, total)
          owed[no] = owes + off + (left + moved)
        end
        if moved ~= 0 then
          points_of[RECORDED_POINTS.after] = total + moved
          local list = points_of[RECORDED_POINTS.awards]
          list[#list + 1] = { award[COMPENSATED.trigger], moved, total + moved, {}, award[COMPENSATED.day] }
          moved_by[award[COMPENSATED.award]] = moved
        end
      end
    end
  end
  local shortfalls = {}
  for _, points_of in ipairs(changed) do
    local no = points_of[RECORDED_POINTS.system]
    local after = points_of[RECORDED_POINTS.after]
    state[USER.points][no] = after > 0 and after or nil
    if owed[no] > 0 then
      shortfalls[#shortfalls + 1] = { no, owed[no] }
    elseif owed[no] == 0 then
      owed[no] = nil
    end
  end
  state[USER.owed] = next(owed) and owed or nil
  return changed, shortfalls, moved_by
end
