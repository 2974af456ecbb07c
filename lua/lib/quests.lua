--- @include "achievements"
--- @include "decimals"
--- @include "users"

-- Repeating achievements: each is completed once a period, when the values of the period's events reach a sum. An event counts in
-- the period of its local day. A state keeps the latest periods with events (QUEST_PERIODS), so that a user who travels, or whose
-- event comes a little late, finds them again; the caller knows earlier ones from Postgres (src/engine/achievements/quests.ts).
-- One table, because a function library has at most 200 local variables.
local quests = {}

-- Number of the period with the day of a row of the plan's periods; nil outside of the season. Same rule as `periodOf` of
-- src/domain/repeat.ts.
function quests.period(quest, row)
  local day = row[ROW.day]
  if quest.from and day < quest.from or quest.to and day > quest.to then
    return nil
  end
  if quest.days then
    return math.floor((day - quest.first) / quest.days) + 1
  end
  return quest.frequency and row[quest.frequency] or 1
end

-- Writes: the state's quests, if the user has none of this number yet.
function quests.of(state, no)
  state[USER.quests] = state[USER.quests] or {}
  local quest = state[USER.quests][no] or { 0, {} }
  state[USER.quests][no] = quest
  return quest
end

-- Returns: the QUEST_PERIOD that the state keeps, or nil; and its place among the periods.
function quests.find(state, no, period)
  local quest, place = state[USER.quests] and state[USER.quests][no], 1
  local periods = quest and quest[QUEST.periods] or {}
  while periods[place] and periods[place][QUEST_PERIOD.period] > period do
    place = place + 1
  end
  local found = periods[place]
  return found and found[QUEST_PERIOD.period] == period and found or nil, place
end

-- The period, added if it is among the latest; nil if the state no longer keeps it.
function quests.keep(state, no, period)
  local kept, place = quests.find(state, no, period)
  if not kept and place <= QUEST_PERIODS.most then
    local periods = quests.of(state, no)[QUEST.periods]
    kept = { period, 0, 0, 0 }
    table.insert(periods, place, kept)
    periods[QUEST_PERIODS.most + 1] = nil
  end
  return kept
end

-- Adds a completion of a period. `sum`: its QUEST_PERIOD, or nil. Returns: whether it is the user's first.
function quests.complete(state, no, sum, at_ms)
  local quest, completions = quests.of(state, no), state[USER.completions]
  if sum then
    sum[QUEST_PERIOD.done] = 1
  end
  quest[QUEST.times] = quest[QUEST.times] + 1
  local is_first = not completions[no]
  completions[no] = math.max(completions[no] or 0, at_ms)
  return is_first
end

-- Takes a completion (COMPLETED) away. `latest`: time of the user's latest other one (epoch ms), or nil. Returns: whether it was
-- the only one.
function quests.revoke(state, completion, latest)
  local no, completions = completion[COMPLETED.achievement], state[USER.completions]
  local quest, kept = quests.of(state, no), quests.find(state, no, completion[COMPLETED.period])
  if kept then
    kept[QUEST_PERIOD.done] = 0
  end
  quest[QUEST.times] = math.max(quest[QUEST.times] - 1, 0)
  if quest[QUEST.times] == 0 then
    completions[no] = nil
  elseif completions[no] == completion[COMPLETED.atMs] and latest then
    completions[no] = latest
  end
  return quest[QUEST.times] == 0
end

-- Completes a period if its sum suffices, it is not completed yet, and the user meets the conditions and has what it requires.
-- Writes: the state's quests and completions. Appends to outcome.completed. Returns: RECORDED_QUEST.
function quests.settle(quest, state, sum, now, outcome)
  local no, completed = quest.no, sum[QUEST_PERIOD.done] == 1 and 2 or 0
  if
    sum[QUEST_PERIOD.done] == 0
    and decimal_reaches(sum[QUEST_PERIOD.whole], sum[QUEST_PERIOD.micros], quest.whole, quest.micros)
    and holds(quest.users, state[USER.attributes])
    and (not quest.requires or has_all(state[USER.completions], quest.requires))
  then
    quests.complete(state, no, sum, now)
    completed = 1
    outcome.completed[#outcome.completed + 1] = no
  end
  local times = quests.of(state, no)[QUEST.times]
  return { no, sum[QUEST_PERIOD.period], times, sum[QUEST_PERIOD.whole], sum[QUEST_PERIOD.micros], completed }
end

-- Adds a RECORDED_QUEST to outcome.quests, in place of an earlier one of the same period.
function quests.note(outcome, settled)
  outcome.quests = outcome.quests or {}
  local place = #outcome.quests + 1
  for i, each in ipairs(outcome.quests) do
    if
      each[RECORDED_QUEST.achievement] == settled[RECORDED_QUEST.achievement]
      and each[RECORDED_QUEST.period] == settled[RECORDED_QUEST.period]
    then
      place = i
    end
  end
  outcome.quests[place] = settled
end

-- Adds an event to the periods of the plan's repeating achievements that count it, and completes those that it fulfils.
-- `row`: the plan's periods on the event's day. A late event has its own periods: late.quests, by number as text, { period; whole,
-- micros and done if the state does not keep it }.
-- Writes: the state's quests and completions, outcome.completed, outcome.quests.
function quests.count(event, state, outcome, row)
  local late = event.occurred and event.occurred.late
  for _, quest in ipairs(event.plan.quests) do
    local own = late and late.quests and late.quests[tostring(quest.no)]
    if (not late or own) and (not quest.counted or outcome.peaks and outcome.peaks[quest.no]) then
      local period = own and own.period or quests.period(quest, row)
      local kept = period and quests.keep(state, quest.no, period)
      local sum = kept or own and own.whole and { period, own.whole, own.micros, own.done }
      if sum then
        sum[QUEST_PERIOD.whole], sum[QUEST_PERIOD.micros] =
          clamped(decimal_add(sum[QUEST_PERIOD.whole], sum[QUEST_PERIOD.micros], event.whole, event.micros))
        local settled = quests.settle(quest, state, sum, event.now, outcome)
        quests.note(outcome, settled)
        -- Recomputations notice that a period which the state does not keep has changed.
        if not kept and settled[RECORDED_QUEST.completed] == 1 then
          state[USER.corrections] = (state[USER.corrections] or 0) + 1
        end
      end
    end
  end
end
