--- @include "decimals"
--- @include "held_writes"

-- What users earn for teams on leaderboards with a `team`: the number of the user attribute that names the team.
-- The state's `teams` is a flat list of STAY: what a user earned in a run of a leaderboard while in a team ('' for none), from
-- `sinceMs` until the next stay of the run begins. The stays of a run add up to the user's score in it.
-- A hash per run holds what the users of this part earned together: fields are TEAM_SUM and the team (`teamsKey` of
-- src/redis/keys.ts). Hidden users do not count.
-- A table and a block, because a library has at most 200 local variables.
local teams = {}
do
  -- What a user earned for a team in a run, over all stays in it. Returns: whole, micros.
  local function earned_for(stays, no, run_day, team)
    local whole, micros = 0, 0
    for at = 1, #stays, STAY.size do
      if stays[at] == no and stays[at + STAY.runDay] == run_day and stays[at + STAY.team] == team then
        whole, micros = decimal_add(whole, micros, stays[at + STAY.whole], stays[at + STAY.micros])
      end
    end
    return whole, micros
  end

  -- Position of the stay in a run to which a time belongs: the last one that began by then, else the first. Nil if the run has
  -- none.
  local function stay_at(state, no, run_day, at_ms)
    local stays, found = state[USER.teams] or {}, nil
    for at = 1, #stays, STAY.size do
      local is_of_run = stays[at] == no and stays[at + STAY.runDay] == run_day
      if is_of_run and (not found or stays[at + STAY.sinceMs] <= at_ms) then
        found = at
      end
    end
    return found
  end

  -- Begins a stay in a run, and drops the leaderboard's stays in earlier runs, as `score_block` drops
  -- scores. Returns: its position.
  local function begin_stay(state, board, run_day, team, now)
    local stays, kept, oldest = state[USER.teams] or {}, {}, board.kept or board.runs[1]
    for at = 1, #stays, STAY.size do
      if stays[at] ~= board.no or not oldest or stays[at + STAY.runDay] >= oldest then
        for offset = 0, STAY.size - 1 do
          kept[#kept + 1] = stays[at + offset]
        end
      end
    end
    local at = #kept + 1
    kept[at + STAY.board], kept[at + STAY.runDay], kept[at + STAY.sinceMs] = board.no, run_day, now
    kept[at + STAY.team], kept[at + STAY.whole], kept[at + STAY.micros] = team, 0, 0
    state[USER.teams] = kept
    return at
  end

  -- Position of the user's present stay in a run; begins it if the team has changed. After LIMIT.stays stays, the last one goes on.
  local function present_stay(state, board, run_day, now)
    local team = state[USER.attributes] and state[USER.attributes][board.team] or ''
    local stays, last, count = state[USER.teams] or {}, nil, 0
    for at = 1, #stays, STAY.size do
      if stays[at] == board.no and stays[at + STAY.runDay] == run_day then
        last, count = at, count + 1
      end
    end
    if last and (stays[last + STAY.team] == team or count == LIMIT.stays) then
      return last
    end
    return begin_stay(state, board, run_day, team, now)
  end

  -- Adds to what the user earned in a stay. Returns: a list of TEAM_MOVE, or nil.
  local function add_to_stay(state, at, whole, micros)
    local stays = state[USER.teams]
    local no, run_day, team = stays[at], stays[at + STAY.runDay], stays[at + STAY.team]
    local whole_before, micros_before = earned_for(stays, no, run_day, team)
    stays[at + STAY.whole], stays[at + STAY.micros] =
      decimal_add(stays[at + STAY.whole], stays[at + STAY.micros], whole, micros)
    if team == '' then
      return nil
    end
    local whole_after, micros_after = earned_for(stays, no, run_day, team)
    local counted = (whole_before ~= 0 or micros_before ~= 0) and 1 or 0
    local counts = (whole_after ~= 0 or micros_after ~= 0) and 1 or 0
    return { { team, whole_after - whole_before, micros_after - micros_before, counts - counted } }
  end

  -- All that the user earned for teams in a run, as a list of TEAM_MOVE; nil for nothing. `sign`: -1 to take it from the teams.
  teams.all = function(state, no, run_day, sign)
    local stays, moves, seen = state[USER.teams] or {}, nil, {}
    for at = 1, #stays, STAY.size do
      local team = stays[at + STAY.team]
      if stays[at] == no and stays[at + STAY.runDay] == run_day and team ~= '' and not seen[team] then
        seen[team] = true
        local whole, micros = earned_for(stays, no, run_day, team)
        if whole ~= 0 or micros ~= 0 then
          moves = moves or {}
          moves[#moves + 1] = { team, sign * whole, sign * micros, sign }
        end
      end
    end
    return moves
  end

  teams.key = function(board_prefix, no, run_day)
    return string.gsub(board_prefix, 'b:$', 't:') .. text_of(no) .. ':' .. text_of(run_day)
  end

  -- Holds changes of what a run's teams earned. `moves`: a list of TEAM_MOVE.
  teams.hold = function(board_prefix, no, run_day, moves)
    local key = teams.key(board_prefix, no, run_day)
    for i = 1, #moves do
      local move = moves[i]
      hold_count(key, TEAM_SUM.whole .. move[TEAM_MOVE.team], move[TEAM_MOVE.whole])
      hold_count(key, TEAM_SUM.micros .. move[TEAM_MOVE.team], move[TEAM_MOVE.micros])
      hold_count(key, TEAM_SUM.members .. move[TEAM_MOVE.team], move[TEAM_MOVE.members])
    end
  end

  -- Adds to what the user earned in a run, in the present team. Returns: a list of TEAM_MOVE, or nil.
  teams.credit = function(state, board, run_day, whole, micros, now)
    return add_to_stay(state, present_stay(state, board, run_day, now), whole, micros)
  end

  -- The same in the team of an earlier time (epoch ms).
  teams.correct = function(state, board, run_day, whole, micros, at_ms)
    local stay = stay_at(state, board.no, run_day, at_ms) or begin_stay(state, board, run_day, '', at_ms)
    return add_to_stay(state, stay, whole, micros)
  end
end
