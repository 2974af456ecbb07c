-- Takes what was awarded, or gives it back where points are negative; a total never falls below 0, nor rises above the maximum.
-- What cannot be taken is owed, and set off against what later reversals give; what cannot be given is owed below 0, and set
-- off against what they take: so it does not matter in which order events are reversed.
-- `awards`: a list of COMPENSATED; `held`: a list of those IDs of awards that stay as they are; `limits`: maxima by system no,
-- as text; nil: what is given and taken is right as it is.
-- Writes: the state's points and what is owed. Returns: what changed, as RECORDED_POINTS; the list of SHORTFALL; by award how
-- its points moved the total.
local function compensate(state, awards, held, limits)
  local stays = {}
  for _, award in ipairs(held) do
    stays[award] = true
  end
  local changed, of_system, moved_by = {}, {}, {}
  local owed = state[USER.owed] or {}
  -- What is given first leaves less to be owed.
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
        -- Owed on the other side, it is less.
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
