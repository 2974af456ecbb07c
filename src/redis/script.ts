import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Redis } from 'ioredis';
import { PACKAGE_ROOT } from '../package-root.ts';
import { connectionOf } from './endpoints.ts';
import { gateOf, RedisNotReady, type Belief } from './gate.ts';
import { inlineNames } from './inline-names.ts';
import { shardOfKey } from './keys.ts';
import { libraryText } from './library-text.ts';
import type { Call, Joinable, Words } from './script-call.ts';
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

/** A file's text with what names stand for in their place, and without its includes, which are these files. */
interface LuaFile {
  text: string;
  includes: string[];
}

function readFile(file: string): LuaFile {
  const text = readFileSync(file, 'utf8');
  const includes = Array.from(text.matchAll(INCLUDE), ([, name]) => join(dirname(file), `${name}.lua`));
  return { text: inlineNames(text, relative(PACKAGE_ROOT, file)).replaceAll(INCLUDE, '').trim(), includes };
}

/** @param read called once for each file */
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

const PREFIX = 'laurel_';
const FOLDER = join(PACKAGE_ROOT, 'lua');

/** Files of `lua/` that this process has read: most scripts include the same ones. */
const ownFiles = new Map<string, LuaFile>();

function readOwnFile(file: string): LuaFile {
  let own = ownFiles.get(file);
  if (own === undefined) ownFiles.set(file, (own = readFile(file)));
  return own;
}

/** A Lua script: called by name, and loaded first where Redis does not know it (first use, an empty Redis). */
export class Script {
  /** Of the library and its function. */
  readonly name: string;
  /** The file's, without its ending. */
  readonly file: string;
  private readonly library: string;
  private readonly calls: Series;
  /** Loads under way, by connection. */
  private readonly loads = new WeakMap<Redis, Promise<void>>();

  /** `name`: a file of `lua/`, without its ending. The shebang makes Redis refuse it whole when memory is full. */
  constructor(name: string) {
    const parts = readParts(join(FOLDER, `${name}.lua`), readOwnFile);
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
    if (acknowledgement !== null) await acknowledgement.waitForNoted();
    return reply;
  }

  /**
   * The same without waiting for a replica: for who does that before anybody hears of it (`acknowledged`). `joined`: it goes
   * with those, unless they are gone or go to another server.
   */
  async runUnacknowledged(redis: Redis, keys: string[], args: Words, joined?: Joinable): Promise<unknown> {
    const server = serverFor(redis, keys);
    const gate = gateOf(server);
    if (gate === undefined) return this.call(server, { name: this.name, keys, args });
    const shard = shardOfKey(keys[0]!);
    const belief = gate.belief(shard);
    if (belief === null) throw new RedisNotReady();
    const { acknowledgement } = gate;
    acknowledgement?.refuseAway();
    try {
      const mayStill = (): boolean => gate.belief(shard) === belief;
      return await this.runBelieving(server, belief, { keys, args, mayStill, acknowledgement, joined });
    } catch (error) {
      if (!(error instanceof RedisNotReady)) throw error;
      gate.refused(shard, belief);
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
    { keys, args, mayStill, acknowledgement, joined }: Omit<Call, 'name'> & { joined?: Joinable | undefined },
  ): Promise<unknown> {
    const call = {
      name: `${this.name}_guarded`,
      keys: [...keys, key],
      args: [...args, value],
      mayStill,
      acknowledgement,
    };
    try {
      return await (joined?.takes(redis) === true ? joined.add(call) : this.call(redis, call));
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('UNMARKED'))) throw error;
      throw new RedisNotReady();
    }
  }

  /** Runs the script whatever the gate says: for what may be done to a Redis in any state. */
  runUnguarded(redis: Redis, keys: string[], args: Words): Promise<unknown> {
    return this.call(serverFor(redis, keys), { name: this.name, keys, args });
  }

  /**
   * Makes several guarded calls by one command. Each reply, or the error instead of it, is in the place of its call. Errors of all of
   * them: those of Redis and of the connection.
   */
  async callJoined(redis: Redis, calls: readonly Call[]): Promise<unknown[]> {
    const keys = calls.flatMap((call) => call.keys);
    const [{ acknowledgement } = {}] = calls;
    const args = calls.flatMap((call) => [call.keys.length, call.args.length, ...call.args]);
    const begunMs = performance.now();
    try {
      return (await send(redis, { name: `${this.name}_joined`, keys, args, acknowledgement })) as unknown[];
    } catch (error) {
      if (!isError(error, 'Function not found')) throw error;
      // Nothing was done.
      return Promise.all(calls.map((call) => this.call(redis, call).catch((alone: unknown) => alone)));
    } finally {
      this.calls.observe((performance.now() - begunMs) / 1000);
    }
  }

  /** Makes a call; loads the script first where Redis does not know it. */
  async call(redis: Redis, call: Call): Promise<unknown> {
    const begunMs = performance.now();
    try {
      return await send(redis, call);
    } catch (error) {
      if (!isError(error, 'Function not found')) throw error;
      await this.load(redis);
      if (call.mayStill?.() === false) throw new RedisNotReady();
      return await send(redis, call);
    } finally {
      this.calls.observe((performance.now() - begunMs) / 1000);
    }
  }

  /**
   * Calls that find it missing while it is loaded wait for that: a connection answers in order, so they came before. An empty
   * Redis of 256 shards was sent one library 256 times, 1.2 MB.
   */
  private load(redis: Redis): Promise<void> {
    let load = this.loads.get(redis);
    if (load === undefined) {
      load = this.sendLibrary(redis).finally(() => this.loads.delete(redis));
      this.loads.set(redis, load);
    }
    return load;
  }

  private async sendLibrary(redis: Redis): Promise<void> {
    try {
      await redis.call('FUNCTION', 'LOAD', this.library);
    } catch (error) {
      // Somebody else did it meanwhile.
      if (!isError(error, 'already exists')) throw error;
    }
  }
}

/** Where replicas are to have what was written, nobody sees the reply before it is known what they have to have. */
function send(redis: Redis, { name, keys, args, acknowledgement }: Call): Promise<unknown> {
  const reply = redis.callBuffer('FCALL', name, keys.length, ...keys, ...args);
  return acknowledgement?.noteOffset(reply) ?? reply;
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
