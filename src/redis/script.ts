import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Redis } from 'ioredis';
import { PACKAGE_ROOT } from '../package-root.ts';
import { connectionOf } from './endpoints.ts';
import { gateOf, RedisNotReady, type Belief } from './gate.ts';
import { inlineNames } from './inline-names.ts';
import { shardOfKey } from './keys.ts';
import { callsOf } from './script-calls-metric.ts';
import type { Series } from '../metrics/series.ts';

const INCLUDE = /^--- @include "(.+)"$/gm;

/**
 * The text of a Lua file with its includes before it, each once, and with what names stand for in their place
 * (`inlineNames`). Throws on a missing or circular include, and on a name that is not declared.
 * `--- @include "name"` is relative to the including file.
 */
export const readScript = (path: string): string => {
  const { includes, own } = readParts(path);
  return [...includes, own].map((part) => `${part}\n`).join('\n');
};

function readParts(path: string): { includes: string[]; own: string } {
  const done = new Set<string>();
  const parts: string[] = [];
  const visit = (file: string, chain: string[]): void => {
    if (chain.includes(file)) throw new Error(`Circular include: ${[...chain, file].join(' → ')}`);
    if (done.has(file)) return;
    const text = readFileSync(file, 'utf8');
    for (const [, name] of text.matchAll(INCLUDE)) visit(join(dirname(file), `${name}.lua`), [...chain, file]);
    done.add(file);
    parts.push(inlineNames(text, relative(PACKAGE_ROOT, file)).replaceAll(INCLUDE, '').trim());
  };
  visit(path, []);
  return { own: parts.pop()!, includes: parts };
}

/**
 * What scripts use of Redis and Lua, as locals of the library: a global is looked up in two tables, the first of which is always
 * empty. 1.2 % of the instructions of an event (`npm run bench:instructions`). Redis 7.0 lets a library see them when a
 * function runs, not when it is loaded.
 */
const GLOBALS = 'redis, cjson, cmsgpack, math, string, table, ipairs, pairs, next, unpack, tonumber, tostring, type';

/**
 * Lua collects its garbage when it has grown to so many per cent of what was left the last time, not at 200: 1.1 % of the
 * instructions of an event, for twice as much garbage on what scripts keep (decoded plans, a few MB at most).
 */
const GARBAGE_PAUSE = 400;

/**
 * A script as a library of functions (FUNCTION LOAD): what it includes is made once, not with every call, and may keep what
 * holds for ever (`lua/lib/plan_of.lua`). KEYS, ARGV and CALL, the state of a call, are new with each, so that a call that
 * fails leaves nothing. Against EVALSHA, which makes everything again with each call, with the plans in each: 0.83 of Redis's
 * CPU with one event a call, 0.84 with two, 0.97 with twenty (medians of 5 pairs, demo catalog, fsync always).
 *
 * `_guarded` does nothing unless what its caller believes is true (`Belief`: the last key and the last argument, which the
 * script does not see): the key holds that mark, and this is that run of a Redis process. So a process that nobody looked at is
 * never written to, nor a shard that was emptied or rebuilt meanwhile. The process is asked for its ID once: a replica and
 * a restarted process load the library again, without what it kept. Each belief that is true is taken apart once; there is
 * one an epoch. 0.8 µs of Redis's CPU a call, of which EXISTS of the mark alone was 0.4 (medians of 15 rounds of 20,000 calls
 * in pipelines, on 2 busy cores).
 */
const libraryText = (name: string, { includes, own }: { includes: string[]; own: string }): string =>
  `local registry = redis
local function globals()
  return ${GLOBALS}
end
local ${GLOBALS}
local KEYS, ARGV, CALL

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
  KEYS, ARGV, CALL = keys, args, {}
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

registry.register_function('${name}_guarded', function(keys, args)
  take_globals()
  local key_no, arg_no = #keys, #args
  local belief = args[arg_no]
  local mark = marks[belief] or mark_of(belief)
  if mark == nil or redis.call('GET', keys[key_no]) ~= mark then
    return redis.error_reply('UNMARKED the shard is not what it is believed to be')
  end
  keys[key_no], args[arg_no] = nil, nil
  return run(keys, args)
end)
`;

type Words = (string | number | Buffer)[];

const PREFIX = 'laurel_';
const FOLDER = join(PACKAGE_ROOT, 'lua');

/** A Lua script: called by name, and loaded first where Redis does not know it (first use, an empty Redis). */
export class Script {
  /** Of the library and its function. */
  readonly name: string;
  /** The file's, without its ending. */
  readonly file: string;
  private readonly library: string;
  private readonly calls: Series;

  /** `name`: a file of `lua/`, without its ending. The shebang makes Redis refuse it whole when memory is full. */
  constructor(name: string) {
    const parts = readParts(join(FOLDER, `${name}.lua`));
    // Frontends of two versions may share a Redis: a function is what its text is.
    const sha = createHash('sha1').update(libraryText('', parts)).digest('hex').slice(0, 12);
    this.name = `${PREFIX}${name}_${sha}`;
    this.file = name;
    this.calls = callsOf(name);
    this.library = `#!lua name=${this.name}\n${libraryText(this.name, parts)}`;
  }

  /**
   * Runs the script on the shard of its first key; answers are buffers. Errors are those of Redis and of the connection;
   * RedisNotReady, and nothing is done, where the connection has a gate that is shut for the shard, or the shard is not what it
   * was found to be; NotReplicated where a replica is to have what was written, and none says so in time: it may have been
   * done then.
   */
  async run(redis: Redis, keys: string[], args: Words): Promise<unknown> {
    const reply = await this.runUnacknowledged(redis, keys, args);
    const acknowledgement = gateOf(serverFor(redis, keys))?.acknowledgement ?? null;
    if (acknowledgement !== null) await acknowledgement.wait();
    return reply;
  }

  /** The same without waiting for a replica: for who does that before anybody hears of it (`acknowledged`). */
  async runUnacknowledged(redis: Redis, keys: string[], args: Words): Promise<unknown> {
    const server = serverFor(redis, keys);
    const gate = gateOf(server);
    if (gate === undefined) return this.call(server, this.name, { keys, args });
    const shard = shardOfKey(keys[0]!);
    const belief = gate.belief(shard);
    if (belief === null) throw new RedisNotReady();
    gate.acknowledgement?.refuseAway();
    try {
      return await this.runBelieving(server, belief, { keys, args, mayStill: () => gate.belief(shard) === belief });
    } catch (error) {
      if (!(error instanceof RedisNotReady)) throw error;
      // What opened it again meanwhile has seen more.
      if (gate.belief(shard) === belief) gate.shut(shard);
      throw error;
    }
  }

  /**
   * Runs the script where a belief holds, whatever a gate says. RedisNotReady, and nothing is done, where it does not.
   * `mayStill`: asked before a call that comes later, since Redis did not know the script.
   */
  async runBelieving(
    redis: Redis,
    { key, value }: Belief,
    { keys, args, mayStill }: { keys: string[]; args: Words; mayStill?: () => boolean },
  ): Promise<unknown> {
    try {
      return await this.call(redis, `${this.name}_guarded`, { keys: [...keys, key], args: [...args, value], mayStill });
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('UNMARKED'))) throw error;
      throw new RedisNotReady();
    }
  }

  /** Runs the script whatever the gate says: for what may be done to a Redis in any state. */
  runUnguarded(redis: Redis, keys: string[], args: Words): Promise<unknown> {
    return this.call(serverFor(redis, keys), this.name, { keys, args });
  }

  private async call(
    redis: Redis,
    name: string,
    { keys, args, mayStill }: { keys: string[]; args: Words; mayStill?: (() => boolean) | undefined },
  ): Promise<unknown> {
    const begunMs = performance.now();
    try {
      return await redis.callBuffer('FCALL', name, keys.length, ...keys, ...args);
    } catch (error) {
      if (!isError(error, 'Function not found')) throw error;
      await this.load(redis);
      if (mayStill?.() === false) throw new RedisNotReady();
      return await redis.callBuffer('FCALL', name, keys.length, ...keys, ...args);
    } finally {
      this.calls.observe((performance.now() - begunMs) / 1000);
    }
  }

  private async load(redis: Redis): Promise<void> {
    try {
      await redis.call('FUNCTION', 'LOAD', this.library);
    } catch (error) {
      // Somebody else did it meanwhile.
      if (!isError(error, 'already exists')) throw error;
    }
  }
}

/** The connection to the server that holds the shard of the first key. */
const serverFor = (redis: Redis, [key]: readonly string[]): Redis =>
  key === undefined ? redis : connectionOf(redis, shardOfKey(key));

/**
 * Removes the scripts of other versions of Laurel from Redis, which would keep them for ever. A process of such a version
 * that still runs loads its own again when it needs them.
 */
export async function forgetOtherScripts(redis: Redis): Promise<void> {
  const own = new Set(
    readdirSync(FOLDER).flatMap((file) => (file.endsWith('.lua') ? [new Script(file.slice(0, -4)).name] : [])),
  );
  const libraries = (await redis.call('FUNCTION', 'LIST', 'LIBRARYNAME', `${PREFIX}*`)) as [string, string][];
  for (const [, name] of libraries) {
    if (own.has(name)) continue;
    try {
      await redis.call('FUNCTION', 'DELETE', name);
    } catch (error) {
      if (!isError(error, 'not found')) throw error;
    }
  }
}

const isError = (error: unknown, text: string): boolean => error instanceof Error && error.message.includes(text);
