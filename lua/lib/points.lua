--- @include "users"

-- src/engine/recomputations/ledger.ts and user-replay.ts apply the rules of this file to stored history.

-- Applies the boosts in force on a local day to a positive award, and rounds once.
-- Writes: ledger.boosted. Returns: points, numbers of the boosts applied.
local boosted
do
  -- Products that were cut before. Converting to text and back costs 3 µs, and few different products occur. A full cache is
  -- cleared.
  local MOST_CUT = 4096
  local cut_products, cut_count = {}, 0

  -- A product cut to 15 digits, so that 10 × 1.1 is exactly 11 and 12,345,678,900 × 1.1 is exactly 13,580,246,790.
  local function cut(product)
    local known = cut_products[product]
    if not known then
      if cut_count == MOST_CUT then
        cut_products, cut_count = {}, 0
      end
      known = tonumber(string.format('%.15g', product))
      cut_products[product], cut_count = known, cut_count + 1
    end
    return known
  end

  -- The combined effect of a ledger's boosts on a local day, for all awards of that day: { day, numbers of the boosts, multiplier,
  -- rounding }. Multipliers are multiplied; if the roundings disagree, down (1) beats nearest (2) beats up (3).
  local function boosts_on(ledger, attributes, day)
    local boosts, applied, multiplier, rounding = ledger.boosts, {}, 1, 3
    for i = 1, #boosts do
      local boost = boosts[i]
      if day >= boost.from and (not boost.to or day <= boost.to) and holds(boost.users, attributes) then
        applied[#applied + 1] = boost.no
        multiplier = cut(multiplier * boost.multiplier)
        rounding = math.min(rounding, boost.rounding)
      end
    end
    return { day = day, applied = applied, multiplier = multiplier, rounding = rounding }
  end

  boosted = function(points, ledger, attributes, day)
    if #ledger.boosts == 0 then
      return points, ledger.boosts
    end
    local on_day = ledger.boosted
    if not on_day or on_day.day ~= day then
      on_day = boosts_on(ledger, attributes, day)
      ledger.boosted = on_day
    end
    if #on_day.applied == 0 then
      return points, on_day.applied
    end
    points = cut(points * on_day.multiplier)
    if on_day.rounding == 1 then
      return math.floor(points), on_day.applied
    elseif on_day.rounding == 3 then
      return math.ceil(points), on_day.applied
    end
    return math.floor(points + 0.5), on_day.applied
  end
end

-- Pays one trigger: applies boosts, then maximum and minimum. Records the points that were really added, unless they are 0.
-- `ledger`: { system, total, boosts, awards } of one system in one event.
-- Writes: ledger.total, ledger.awards { trigger no, awarded, total after, boost nos }.
local function award_points(ledger, trigger, multiples, state, day)
  local points = trigger.points * multiples
  local after, applied
  if points > 0 then
    points, applied = boosted(points, ledger, state[USER.attributes], day)
    after = math.max(ledger.total, math.min(ledger.total + points, ledger.system.max or LIMIT.sum - 1))
  else
    after, applied = math.max(ledger.total + points, 0), {}
  end
  local awarded = after - ledger.total
  if awarded ~= 0 then
    ledger.total = after
    ledger.awards[#ledger.awards + 1] = { trigger.no, awarded, after, applied }
  end
end

-- A user's balance in a points system: the total minus points spent, minus open holds. Below zero if points were taken away after
-- they were spent. src/engine/points/balances.ts has the same rule.
local function balance_of(state, system_no, now)
  local spent, holds = state[USER.spent], state[USER.holds]
  local balance = (state[USER.points][system_no] or 0) - (spent and spent[system_no] or 0)
  for at = 1, holds and #holds or 0, HOLD.size do
    if holds[at + HOLD.system] == system_no and holds[at + HOLD.expiresMs] > now then
      balance = balance - holds[at + HOLD.amount]
    end
  end
  return balance
end

-- One ledger per points system: the total before the event, the awards so far, and `left`, which blocking triggers may spend: the
-- balance before the event's awards. The user's own boosts are added to the plan's.
local function open_ledgers(plan, state, own_boosts, now)
  local ledgers, spends = {}, state[USER.spent] or state[USER.holds]
  for i = 1, #plan.systems do
    local system = plan.systems[i]
    local boosts = system.boosts
    local own = own_boosts and own_boosts[tostring(system.no)]
    if own then
      boosts = { unpack(boosts) }
      for j = 1, #own do
        boosts[#boosts + 1] = own[j]
      end
    end
    local total = state[USER.points][system.no] or 0
    local left = spends and balance_of(state, system.no, now) or total
    ledgers[i] = { system = system, before = total, total = total, left = left, boosts = boosts, awards = {} }
  end
  return ledgers
end

-- Stores the ledgers' totals in the user's state. A total of 0 is not stored.
local function close_ledgers(ledgers, state)
  for i = 1, #ledgers do
    local ledger = ledgers[i]
    if ledger.total ~= ledger.before then
      state[USER.points][ledger.system.no] = ledger.total > 0 and ledger.total or nil
    end
  end
end

-- How many multiples of a metric trigger's threshold an event newly crosses. The highest total (or count of matching events) ever
-- reached counts, so falling and rising again earns nothing twice.
-- `outcome`: peak_before, peak_after of the metric; peaks (nil for none): trigger no → PEAK of the trigger's own count.
local function crossed(trigger, outcome, attributes)
  local before, after = outcome.peak_before, outcome.peak_after
  if trigger.counted then
    local peak = outcome.peaks and outcome.peaks[trigger.no]
    before, after = peak and peak[PEAK.before], peak and peak[PEAK.after]
  end
  if before == after or trigger.users and not holds(trigger.users, attributes) then
    return 0
  end
  return math.floor(after / trigger.threshold) - math.floor(before / trigger.threshold)
end

-- How many more multiples of a length the streak reached in its replay than it had reached before.
local function multiples_reached(late, length)
  local count = 0
  for _, reached in ipairs(late.reached) do
    count = count + (reached % length == 0 and 1 or 0)
  end
  for _, reached in ipairs(late.before) do
    count = count - (reached % length == 0 and 1 or 0)
  end
  return math.max(0, count)
end

-- Pays metric, streak and achievement triggers of every system, in this order, oldest first.
-- Returns: the number of a blocking trigger that the balance before the event's awards cannot pay, or nil.
local function fire_triggers(ledgers, event, state, outcome)
  local completed
  for i = 1, #outcome.completed do
    completed = completed or {}
    completed[outcome.completed[i]] = true
  end
  for i = 1, #ledgers do
    local ledger = ledgers[i]
    local system = ledger.system
    local metric = system.metric
    for j = 1, #metric do
      local trigger = metric[j]
      local multiples = crossed(trigger, outcome, state[USER.attributes])
      if multiples > 0 then
        award_points(ledger, trigger, multiples, state, outcome.day)
      end
    end
    local due
    local late = outcome.late
    if outcome.extended or late then
      for j = 1, #system.streak do
        local trigger = system.streak[j]
        local reached = late and multiples_reached(late, trigger.length) > 0
          or not late and outcome.length % trigger.length == 0
        if reached and holds(trigger.users, state[USER.attributes]) then
          due = due or {}
          due[#due + 1] = trigger
        end
      end
    end
    if completed then
      for j = 1, #system.achievement do
        local trigger = system.achievement[j]
        if completed[trigger.achievement] and holds(trigger.users, state[USER.attributes]) then
          due = due or {}
          due[#due + 1] = trigger
        end
      end
    end
    for j = 1, due and #due or 0 do
      local trigger = due[j]
      if trigger.blocks and trigger.points < 0 then
        ledger.left = ledger.left + trigger.points
        if ledger.left < 0 then
          return trigger.no
        end
      end
      award_points(ledger, trigger, 1, state, outcome.day)
    end
  end
  return nil
end

-- The points systems that an event changed: { system number, total before, total after, awards }; nil if there are none.
local function points_record(ledgers)
  local changed
  for i = 1, #ledgers do
    local ledger = ledgers[i]
    if #ledger.awards > 0 then
      changed = changed or {}
      changed[#changed + 1] = { ledger.system.no, ledger.before, ledger.total, ledger.awards }
    end
  end
  return changed
end
