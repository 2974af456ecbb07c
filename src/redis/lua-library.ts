import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { PACKAGE_ROOT } from '../package-root.ts';
import * as call from '../packed/call-fields.ts';
import * as commit from '../packed/commit-fields.ts';
import * as guard from '../packed/guard-fields.ts';
import * as record from '../packed/record-fields.ts';
import * as user from '../packed/user-fields.ts';
import { USED } from './idempotency.ts';

/**
 * Layout of a points system's counts in a hash. Level 0 counts the users of each total, level 1 the users of each range of
 * `width` totals, and so on; block 0 of each level is not counted. Scripts know it as `TOTALS`.
 */
export const TOTALS = {
  width: 32,
  /** Enough for all totals, which are below 10^15. */
  levels: 10,
  /** Field: number of users with points, all those counted on level 0. */
  holders: 'users',
  /**
   * Field, followed by the number of a level above 0: number of users on that level. The name is longer than the values that Redis
   * keeps in a listpack (64 bytes, `hash-max-listpack-value`), where each lookup would search up to 512 counts from the start.
   */
  level: 'users counted on a level; the length of this name makes Redis keep a table: ',
} as const;

const LETTER_BEFORE_A = 96;
/** By level: the field of the number of users on it, and the beginning of the fields of its blocks. */
const LEVELS = Array.from({ length: TOTALS.levels + 1 }, (_, level) => ({
  users: level === 0 ? TOTALS.holders : `${TOTALS.level}${level}`,
  letter: level === 0 ? '' : String.fromCharCode(LETTER_BEFORE_A + level),
}));

/** The fields that count a user with this total; none for 0. `lua/count_points.lua` reads them. */
export function totalFields(total: number): string[] {
  const fields: string[] = [];
  for (let block = total, level = 0; block > 0; block = Math.floor(block / TOTALS.width), level += 1) {
    const { users, letter } = LEVELS[level]!;
    fields.push(`${letter}${block}`, users);
  }
  return fields;
}

/** What a change of a total adds to the counts. */
export function totalMoves(before: number, after: number): [field: string, added: number][] {
  const [left, entered] = [totalFields(before), totalFields(after)];
  const moves: [field: string, added: number][] = [];
  for (const field of left) if (!entered.includes(field)) moves.push([field, -1]);
  for (const field of entered) if (!left.includes(field)) moves.push([field, 1]);
  return moves;
}

interface LuaToken {
  kind: 'name' | 'number' | 'string' | 'sign' | 'other';
  text: string;
  at: number;
}

const TOKEN =
  /(?<other>\s+|--\[(?<level>=*)\[[^]*?\]\k<level>\]|--[^\n]*)|(?<string>'(?:\\[^]|[^'\\])*'|"(?:\\[^]|[^"\\])*"|\[(?<depth>=*)\[[^]*?\]\k<depth>\])|(?<name>[A-Za-z_]\w*)|(?<number>\d[\w.]*)|(?<sign>\.{2,3}|[=~<>]=|[^])/gy;

/** Splits Lua text into tokens. Joined together, they are the whole text. */
export const luaTokens = (text: string): LuaToken[] =>
  Array.from(text.matchAll(TOKEN), ({ 0: token, index, groups }) => {
    const kinds = ['name', 'number', 'string', 'other'] as const;
    return { kind: kinds.find((kind) => groups![kind] !== undefined) ?? 'sign', text: token, at: index };
  });

export const lineAt = (text: string, at: number): number => text.slice(0, at).split('\n').length;

type Shape = Readonly<Record<string, string | number>>;

/** Names of positions, which count from 0 in TypeScript and from 1 in Lua. */
const POSITIONS: Readonly<Record<string, Shape>> = {
  USER: user.USER,
  EVENT_RECORD: record.EVENT_RECORD,
  READ_KEY: commit.READ_KEY,
  READ_ARG: commit.READ_ARG,
  READ_REPLY: commit.READ_REPLY,
  COMMIT_KEY: commit.COMMIT_KEY,
  COMMIT_ARG: commit.COMMIT_ARG,
  CALL: commit.CALL,
  BLOCK: commit.BLOCK,
  STEP_PART: commit.STEP_PART,
};

/** Names of keys, offsets, values and limits, which are the same in both languages. */
const CONSTANTS: Readonly<Record<string, Shape>> = {
  QUARANTINED: guard.QUARANTINED,
  KIND: record.KIND,
  RECORD: record.RECORD,
  NO_RANK: record.NO_RANK,
  BATCH_RESULT: call.BATCH_RESULT,
  COUNTER: call.COUNTER,
  OUTBOX: call.OUTBOX,
  OLD_KEYS: call.OLD_KEYS,
  LISTENED: call.LISTENED,
  HANDED: call.HANDED,
  ANNOUNCED: call.ANNOUNCED,
  USED,
  AFTER_USERS: commit.AFTER_USERS,
  SET: commit.SET,
  HASH_COUNTS: commit.HASH_COUNTS,
  MOVE: commit.MOVE,
  MORE: commit.MORE,
  ASKED_KEY: commit.ASKED_KEY,
  BLOCK_BYTES: commit.BLOCK_BYTES,
  RECORD_WORDS: commit.RECORD_WORDS,
  USE: commit.USE,
  COUNT: commit.COUNT,
  FIELD: commit.FIELD,
  REACHED_TIME: commit.REACHED_TIME,
  ENDED: commit.ENDED,
  TOTALS,
};

const SHAPE = /^[A-Z][A-Z_]*$/;

/**
 * Replaces declared names with their keys and positions: `record[RECORD.userId]` becomes `record['u']`, which Lua compiles
 * like `record.u`, and `state[USER.name]` becomes `state[31]`. So the names cost nothing at run time. Line numbers stay the
 * same. Throws on a name that `src/packed` does not declare; `file` identifies the text in the message.
 */
export function inlineNames(text: string, file: string): string {
  const tokens = luaTokens(text);
  let inlined = '';
  for (let n = 0; n < tokens.length; n += 1) {
    const { kind, text: shape, at } = tokens[n]!;
    if (kind !== 'name' || !SHAPE.test(shape) || tokens[n + 1]?.text !== '.' || tokens[n - 1]?.text === '.') {
      inlined += shape;
      continue;
    }
    const name = tokens[n + 2]!.text;
    const literal = literalOf(shape, name);
    if (literal === undefined) throw new Error(`${file}:${lineAt(text, at)}: ${shape}.${name} is not declared`);
    inlined += literal;
    n += 2;
  }
  return inlined;
}

function literalOf(shape: string, name: string): string | undefined {
  const position = declared(POSITIONS, shape, name);
  if (position !== undefined) return String(Number(position) + 1);
  const constant = declared(CONSTANTS, shape, name);
  return typeof constant === 'string' ? `'${constant}'` : constant?.toString();
}

const declared = (shapes: Readonly<Record<string, Shape>>, shape: string, name: string): string | number | undefined =>
  Object.hasOwn(shapes, shape) && Object.hasOwn(shapes[shape]!, name) ? shapes[shape]![name] : undefined;

const INCLUDE = /^--- @include "(.+)"$/gm;

/**
 * A Lua file's text, preceded by its includes, each once, with names replaced (`inlineNames`). `--- @include "name"` is relative to
 * the including file. Throws on a missing or circular include and on an undeclared name.
 */
export const readScript = (path: string): string => {
  const { includes, own } = readParts(path);
  return [...includes, own].map((part) => `${part}\n`).join('\n');
};

/** A file's text with names replaced and without its includes, which are listed separately. */
interface LuaFile {
  text: string;
  includes: string[];
}

function readFile(file: string): LuaFile {
  const text = readFileSync(file, 'utf8');
  const includes = Array.from(text.matchAll(INCLUDE), ([, name]) => join(dirname(file), `${name}.lua`));
  return { text: inlineNames(text, relative(PACKAGE_ROOT, file)).replaceAll(INCLUDE, '').trim(), includes };
}

/** @param read called once per file */
function readParts(path: string, read: (file: string) => LuaFile = readFile): { includes: string[]; own: string } {
  const done = new Set<string>();
  const parts: string[] = [];
  const visit = (file: string, chain: string[]): void => {
    if (chain.includes(file)) throw new Error(`Circular include: ${[...chain, file].join(' → ')}`);
    if (done.has(file)) return;
    const { text, includes } = read(file);
    for (const included of includes) visit(included, [...chain, file]);
    done.add(file);
    parts.push(text);
  };
  visit(path, []);
  return { own: parts.pop()!, includes: parts };
}

export const LUA_FOLDER = join(PACKAGE_ROOT, 'lua');

/** Files of `lua/` that this process has read. Most scripts share includes. */
const ownFiles = new Map<string, LuaFile>();

function readOwnFile(file: string): LuaFile {
  let own = ownFiles.get(file);
  if (own === undefined) ownFiles.set(file, (own = readFile(file)));
  return own;
}

/** The parts of a script, for `libraryText`. Each file is read once. */
export const scriptParts = (name: string): { includes: string[]; own: string } =>
  readParts(join(LUA_FOLDER, `${name}.lua`), readOwnFile);

/**
 * Globals of Redis and Lua that scripts use, as locals of the library: a global lookup searches two tables, the first of which is
 * always empty. Saves 1.2 % of an event's instructions (`npm run bench:instructions`). Redis 7.0 provides them when a function
 * runs, not when a library is loaded.
 */
const GLOBALS =
  'redis, cjson, cmsgpack, math, string, table, ipairs, pairs, next, unpack, tonumber, tostring, type, pcall';

/**
 * Lua starts a garbage collection when memory has grown to this percentage of what the last one left; the default is 200.
 * Saves 1.1 % of an event's instructions, at the price of twice the garbage on top of retained data (decoded plans, a few MB
 * at most).
 */
const GARBAGE_PAUSE = 400;

/**
 * How much Lua collects for what it allocates, in percent; the default is 200. Redis makes a step of the collection every 50 calls, so
 * that it never pauses. Little is retained, so a slow collection costs little memory: at 6,000 events a second, functions take 3.3 MB
 * at most. Below 25, small objects would become garbage faster than Lua sweeps them.
 */
const GARBAGE_STEP = 50;

const MAIN = /^local function main\(\)$/m;

/**
 * Wraps a script as a function library (FUNCTION LOAD). Its includes are evaluated once, not with every call, and may keep
 * data that never changes (`text_of` in `lua/lib/moves.lua`). A script that defines `main` has functions of its own, which
 * are also created once; the text of another is `main`. KEYS and ARGV are new with each call, so a failed call leaves nothing behind. EVALSHA would evaluate everything with each call.
 *
 * `_guarded` does nothing unless its caller's `Belief` holds (the last key and last argument, hidden from the script): the
 * key for which the last key stands (`neverKey`) holds the mark, and this is the expected Redis process. So no call writes
 * to a process that was never inspected, nor to a shard that was emptied or rebuilt. The library reads the process's ID
 * once, because replicas and restarted processes load the library again without its data. Each belief that holds is parsed
 * once; there is one per epoch.
 *
 * `_joined` takes several such calls, on any shards of the server. The number of keys and arguments precedes each call's
 * arguments. Each call has its own tables. A call that does nothing or fails puts its error in its place, and the others
 * still run. Redis, its log and its replicas see only one command.
 */
export const libraryText = (name: string, { includes, own }: { includes: string[]; own: string }): string =>
  `local registry = redis
local function globals()
  return ${GLOBALS}
end
local ${GLOBALS}
local KEYS, ARGV

${includes.join('\n\n')}

${MAIN.test(own) ? own : `local function main()\n${own}\nend`}

local function take_globals()
  if not redis then
    ${GLOBALS} = globals()
    collectgarbage('setpause', ${GARBAGE_PAUSE})
    collectgarbage('setstepmul', ${GARBAGE_STEP})
  end
end

local function run(keys, args)
  take_globals()
  KEYS, ARGV = keys, args
  return main()
end

registry.register_function('${name}', run)
local own_run
local marks, mark_keys = {}, {}

local function mark_of(belief)
  local mark, run_id = string.match(belief, '^(.*)/(%x+)$')
  own_run = own_run or string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  if run_id ~= own_run then
    return nil
  end
  marks[belief] = mark
  return mark
end

local function mark_key_of(never)
  local key = string.sub(never, 1, -2)
  mark_keys[never] = key
  return key
end

local function run_believing(keys, args)
  local key_no, arg_no = #keys, #args
  local belief, never = args[arg_no], keys[key_no]
  local mark = marks[belief] or mark_of(belief)
  if mark == nil or redis.call('GET', mark_keys[never] or mark_key_of(never)) ~= mark then
    return redis.error_reply('UNMARKED the shard does not match the belief of the caller')
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
