/**
 * What scripts use of Redis and Lua, as locals of the library: a global is looked up in two tables, the first of which is always
 * empty. 1.2 % of the instructions of an event (`npm run bench:instructions`). Redis 7.0 lets a library see them when a
 * function runs, not when it is loaded.
 */
const GLOBALS =
  'redis, cjson, cmsgpack, math, string, table, ipairs, pairs, next, unpack, tonumber, tostring, type, pcall';

/**
 * Lua collects its garbage when it has grown to so many per cent of what was left the last time, not at 200: 1.1 % of the
 * instructions of an event, for twice as much garbage on what scripts keep (decoded plans, a few MB at most).
 */
const GARBAGE_PAUSE = 400;

/**
 * A script as a library of functions (FUNCTION LOAD): what it includes is made once, not with every call, and may keep what
 * holds for ever (`lua/lib/plan_of.lua`). KEYS, ARGV and this_call, the state of a call, are new with each, so that a call that
 * fails leaves nothing. Against EVALSHA, which makes everything again with each call, with the plans in each: 0.83 of Redis's
 * CPU with one event a call, 0.84 with two, 0.97 with twenty (medians of 5 pairs, demo catalog, fsync always).
 *
 * `_guarded` does nothing unless what its caller believes is true (`Belief`: the last key and the last argument, which the
 * script does not see): the key holds that mark, and this is that run of a Redis process. So a process that nobody looked at is
 * never written to, nor a shard that was emptied or rebuilt meanwhile. The process is asked for its ID once: a replica and
 * a restarted process load the library again, without what it kept. Each belief that is true is taken apart once; there is
 * one an epoch. 0.8 µs of Redis's CPU a call, of which EXISTS of the mark alone was 0.4 (medians of 15 rounds of 20,000 calls
 * in pipelines, on 2 busy cores).
 *
 * `_joined` takes several such calls, of any shards of the server: before the arguments of each stand how many keys and
 * arguments it has. Each is a call of its own, in its own tables: one that does nothing, or fails, answers with its error in
 * its place, and the others are made all the same. Only together are they one command for Redis, its log and its replicas.
 */
export const libraryText = (name: string, { includes, own }: { includes: string[]; own: string }): string =>
  `local registry = redis
local function globals()
  return ${GLOBALS}
end
local ${GLOBALS}
local KEYS, ARGV, this_call

${includes.join('\n\n')}

local function main()
${own}
end

local function take_globals()
  if not redis then
    ${GLOBALS} = globals()
    collectgarbage('setpause', ${GARBAGE_PAUSE})
  end
end

local function run(keys, args)
  take_globals()
  KEYS, ARGV, this_call = keys, args, {}
  return main()
end

registry.register_function('${name}', run)
local own_run
local marks = {}

local function mark_of(belief)
  local mark, run_id = string.match(belief, '^(.*)/(%x+)$')
  own_run = own_run or string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  if run_id ~= own_run then
    return nil
  end
  marks[belief] = mark
  return mark
end

local function run_believing(keys, args)
  local key_no, arg_no = #keys, #args
  local belief = args[arg_no]
  local mark = marks[belief] or mark_of(belief)
  if mark == nil or redis.call('GET', keys[key_no]) ~= mark then
    return redis.error_reply('UNMARKED the shard is not what it is believed to be')
  end
  keys[key_no], args[arg_no] = nil, nil
  return run(keys, args)
end

registry.register_function('${name}_guarded', function(keys, args)
  take_globals()
  return run_believing(keys, args)
end)

registry.register_function('${name}_joined', function(keys, args)
  take_globals()
  local replies, key, arg = {}, 1, 1
  while arg < #args do
    local next_key, first_arg = key + tonumber(args[arg]), arg + 2
    local next_arg = first_arg + tonumber(args[arg + 1])
    local done, reply =
      pcall(run_believing, { unpack(keys, key, next_key - 1) }, { unpack(args, first_arg, next_arg - 1) })
    replies[#replies + 1] = done and reply or redis.error_reply(type(reply) == 'table' and reply.err or reply)
    key, arg = next_key, next_arg
  end
  return replies
end)
`;
