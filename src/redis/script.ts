import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import type { Redis } from 'ioredis';
import type { Registry } from 'prom-client';
import { DURATION_BUCKETS, Histogram, type Series } from '../metrics/series.ts';
import { connectionOf } from './endpoints.ts';
import { gateOf, RedisNotReady, type Belief } from './gate.ts';
import { shardOfKey } from './keys.ts';
import { libraryText, LUA_FOLDER, scriptParts } from './lua-library.ts';
import type { ReplicaAcknowledgement } from './replica-acknowledgement.ts';

export type Words = (string | number | Buffer)[];

/** A call of a script's function. */
export interface Call {
  name: string;
  keys: string[];
  args: Words;
  /** Asked before it is made a second time, since Redis did not know the script. */
  mayStill?: (() => boolean) | undefined;
  /** Where replicas are to have what it writes; null, or without it: nobody asks. The same for all calls of a connection that are joined. */
  acknowledgement?: Pick<ReplicaAcknowledgement, 'noteOffset'> | null | undefined;
}

/** Of this process: scripts are made where they are used, also when a file is imported. */
const calls = new Histogram({
  name: 'laurel_script_call_duration_seconds',
  help: 'Time that calls of scripts took, by script, the way to Redis and back included.',
  bounds: DURATION_BUCKETS,
});
const byScript = new Map<string, Series>();

/** Where the calls of a script are observed, one for all of its name. */
function callsOf(script: string): Series {
  let series = byScript.get(script);
  if (series === undefined) byScript.set(script, (series = calls.series({ script })));
  return series;
}

/** Has the registry answer with the calls that this process makes. */
export const registerScriptCalls = (registry: Registry): void => calls.register(registry);

const PREFIX = 'laurel_';

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
    const parts = scriptParts(name);
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
  async runUnacknowledged(redis: Redis, keys: string[], args: Words, joined?: JoinedCalls): Promise<unknown> {
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
    { keys, args, mayStill, acknowledgement, joined }: Omit<Call, 'name'> & { joined?: JoinedCalls | undefined },
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

const scripts = new Map<string, Script>();

/** The script of a name; its files are read the first time. */
export function scriptNamed(name: string): Script {
  let script = scripts.get(name);
  if (script === undefined) scripts.set(name, (script = new Script(name)));
  return script;
}

/** Where replicas are to have what was written, nobody sees the reply before it is known what they have to have. */
function send(redis: Redis, { name, keys, args, acknowledgement }: Call): Promise<unknown> {
  const reply = redis.callBuffer('FCALL', name, keys.length, ...keys, ...args);
  return acknowledgement?.noteOffset(reply) ?? reply;
}

interface Joining {
  call: Call;
  resolve: (reply: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * Calls of a script, of shards of one server, that leave as one command: each with its own belief, reply and error, as if it
 * went alone (`libraryText`). What a command costs Redis and us is paid once for all of them.
 */
export class JoinedCalls {
  private readonly script: Script;
  private readonly redis: Redis;
  private joining: Joining[] | null = [];

  /** `redis`: the connection to the server. */
  constructor(script: Script, redis: Redis) {
    this.script = script;
    this.redis = redis;
  }

  /** Whether a call over this connection can still join. */
  takes(redis: Redis): boolean {
    return this.joining !== null && redis === this.redis;
  }

  /** The reply to a call that goes with the others. Only while `takes` says so; rejects as a call alone does. */
  add(call: Call): Promise<unknown> {
    return new Promise((resolve, reject) => void this.joining!.push({ call, resolve, reject }));
  }

  /** Sends what has joined. Resolves when all of it is answered, with errors or without; what comes later goes alone. */
  async send(): Promise<void> {
    const joining = this.joining ?? [];
    this.joining = null;
    try {
      const replies = await this.replies(joining.map(({ call }) => call));
      for (const [index, { resolve, reject }] of joining.entries()) {
        const reply = replies[index];
        if (reply instanceof Error) reject(reply);
        else resolve(reply);
      }
    } catch (error) {
      for (const { reject } of joining) reject(error);
    }
  }

  private async replies(calls: readonly Call[]): Promise<unknown[]> {
    const [first] = calls;
    if (first === undefined) return [];
    return calls.length === 1 ? [await this.script.call(this.redis, first)] : this.script.callJoined(this.redis, calls);
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
    readdirSync(LUA_FOLDER).flatMap((file) => (file.endsWith('.lua') ? [new Script(file.slice(0, -4)).name] : [])),
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
