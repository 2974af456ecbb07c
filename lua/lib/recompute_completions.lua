--- @include "held_writes"

-- Completes, restores and revokes what is planned of a user's achievements; what is not as it was planned from stays.
-- `planned`: complete (a list of numbers), restore and revoke (lists of COMPLETED: one is restored as it was, and revoked only
-- if it is still that completion).
-- Writes: the state's completions. Returns: completed (numbers), restored and revoked (lists of COMPLETED), skipped (numbers),
-- changed { [number] = true }.
local function recompute_completions(state, planned, now)
  local completions = state[USER.completions]
  local done = { completed = {}, restored = {}, revoked = {}, skipped = {}, changed = {} }
  local function note(list, no, item)
    list[#list + 1] = item
    if list ~= done.skipped then
      done.changed[no] = true
    end
  end
  for _, no in ipairs(planned.complete) do
    if completions[no] then
      note(done.skipped, no, no)
    else
      completions[no] = now
      note(done.completed, no, no)
    end
  end
  for _, each in ipairs(planned.restore) do
    local no = each[COMPLETED.achievement]
    if completions[no] then
      note(done.skipped, no, no)
    else
      completions[no] = each[COMPLETED.atMs]
      note(done.restored, no, each)
    end
  end
  for _, each in ipairs(planned.revoke) do
    local no = each[COMPLETED.achievement]
    if completions[no] ~= each[COMPLETED.atMs] then
      note(done.skipped, no, no)
    else
      completions[no] = nil
      note(done.revoked, no, each)
    end
  end
  return done
end

-- Keeps the counters of those who completed an achievement; those of what is in the record's `completed` are counted with it.
local function count_completions(counters, done)
  for _, each in ipairs(done.restored) do
    hold_count(counters, COUNTER.completions .. each[COMPLETED.achievement])
  end
  for _, each in ipairs(done.revoked) do
    hold_count(counters, COUNTER.completions .. each[COMPLETED.achievement], -1)
  end
end
