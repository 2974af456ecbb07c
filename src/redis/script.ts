import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import type { Redis } from 'ioredis';
import type { Registry } from 'prom-client';
import { DURATION_BUCKETS, Histogram, type Series } from '../telemetry/metrics.ts';
import { connectionOf, isOfCluster } from './endpoints.ts';
import { FunctionCall } from './commands.ts';
import { gateOf, RedisNotReady, type Belief } from './gate.ts';
import { shardOfKey } from './keys.ts';
import { libraryText, LUA_FOLDER, scriptParts } from './lua-library.ts';
import { isElsewhere } from './outage.ts';
import type { ReplicaAcknowledgement } from './replica-acknowledgement.ts';

export type Words = (string | number | Buffer)[];

export interface Call {
  name: string;
  keys: string[];
  args: Words;
  /** Checked before a second attempt, which is made if Redis did not know the script. */
  mayStill?: (() => boolean) | undefined;
  /** Set if replicas must hold the writes. All calls that are joined on a connection share it. */
  acknowledgement?: Pick<ReplicaAcknowledgement, 'noteOffset'> | null | undefined;
}

/** One histogram per process, because scripts are created in many places, some at import. */
const calls = new Histogram({
  name: 'laurel_script_call_duration_seconds',
  help: 'Duration of script calls including the round trip to Redis, by script.',
  bounds: DURATION_BUCKETS,
});
const byScript = new Map<string, Series>();

/** The time series of a script, shared by all instances of the same name. */
function callsOf(script: string): Series {
  let series = byScript.get(script);
  if (series === undefined) byScript.set(script, (series = calls.series({ script })));
  return series;
}

export const registerScriptCalls = (registry: Registry): void => calls.register(registry);

const PREFIX = 'laurel_';

/** A Lua script, called by name. If Redis does not know it (first use, an empty Redis), it is loaded first. */
export class Script {
  readonly name: string;
  readonly file: string;
  private readonly library: string;
  private readonly calls: Series;
  /** Loads in progress, by connection. */
  private readonly loads = new WeakMap<Redis, Promise<void>>();

  /** `name`: a file of `lua/` without its extension. The shebang makes Redis refuse the whole script when memory is full. */
  constructor(name: string) {
    const parts = scriptParts(name);
    // Frontends of two versions may share a Redis, so the name includes a hash of the text.
    const sha = createHash('sha1').update(libraryText('', parts)).digest('hex').slice(0, 12);
    this.name = `${PREFIX}${name}_${sha}`;
    this.file = name;
    this.calls = callsOf(name);
    this.library = `#!lua name=${this.name}\n${libraryText(this.name, parts)}`;
  }

  /**
   * Runs the script on the shard of its first key and returns the reply with buffers. Throws errors of Redis and of the connection.
   * Throws RedisNotReady, with nothing done, if the connection's gate is closed for the shard or its belief does not hold. Throws
   * NotReplicated if no replica confirms the write in time; the write may have happened.
   */
  async run(redis: Redis, keys: string[], args: Words): Promise<unknown> {
    const reply = await this.runUnacknowledged(redis, keys, args);
    const acknowledgement = gateOf(serverFor(redis, keys))?.acknowledgement ?? null;
    if (acknowledgement !== null) await acknowledgement.waitForNoted();
    return reply;
  }

  /** Like `run`, but the caller waits for replicas (`acknowledged`). `joined`: calls to send it with. */
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

  /** Runs the script if a belief holds, else throws RedisNotReady. `mayStill`: checked before a second attempt. */
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
      if (!(error instanceof Error && (error.message.startsWith('UNMARKED') || isElsewhere(error)))) throw error;
      throw new RedisNotReady();
    }
  }

  /** Runs the script regardless of the gate: for operations that are allowed on a Redis in any state. */
  runUnguarded(redis: Redis, keys: string[], args: Words): Promise<unknown> {
    return this.call(serverFor(redis, keys), { name: this.name, keys, args });
  }

  /** Sends guarded calls as one command. Returns each reply or error. Throws errors that concern all. */
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
      return this.callEach(redis, calls);
    } finally {
      this.calls.observe((performance.now() - begunMs) / 1000);
    }
  }

  /** Makes several calls. Returns each call's reply, or its error, at the call's index. */
  callEach(redis: Redis, calls: readonly Call[]): Promise<unknown[]> {
    return Promise.all(calls.map((call) => this.call(redis, call).catch((alone: unknown) => alone)));
  }

  /** Makes a call. Loads the script first if Redis does not know it. */
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

  /** Calls that find the script missing share one load. */
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
      // Another process loaded it meanwhile.
      if (!isError(error, 'already exists')) throw error;
    }
  }
}

const scripts = new Map<string, Script>();

export function scriptNamed(name: string): Script {
  let script = scripts.get(name);
  if (script === undefined) scripts.set(name, (script = new Script(name)));
  return script;
}

/** If replicas must hold the write, withholds the reply until the offset that they must reach is known. */
function send(redis: Redis, { name, keys, args, acknowledgement }: Call): Promise<unknown> {
  const reply = redis.sendCommand(new FunctionCall(name, keys, args)) as Promise<unknown>;
  return acknowledgement?.noteOffset(reply) ?? reply;
}

interface Joining {
  call: Call;
  resolve: (reply: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * Calls of one script on shards of one server, sent as one command. Each keeps its own belief, reply and error, as if sent
 * alone (`libraryText`); the fixed cost of a command is paid once. In a cluster, where a command may touch only one slot,
 * they are separate commands, sent together.
 */
export class JoinedCalls {
  private readonly script: Script;
  private readonly redis: Redis;
  private joining: Joining[] | null = [];

  constructor(script: Script, redis: Redis) {
    this.script = script;
    this.redis = redis;
  }

  takes(redis: Redis): boolean {
    return this.joining !== null && redis === this.redis;
  }

  /** Adds a call and returns its reply; rejects as a separate call does. Only while `takes` returns true. */
  add(call: Call): Promise<unknown> {
    return new Promise((resolve, reject) => void this.joining!.push({ call, resolve, reject }));
  }

  /** Sends the joined calls. Resolves when all are answered, with errors or without. Later calls go alone. */
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
    if (calls.length === 1) return [await this.script.call(this.redis, first)];
    return isOfCluster(this.redis)
      ? this.script.callEach(this.redis, calls)
      : this.script.callJoined(this.redis, calls);
  }
}

/** The connection to the server that holds the shard of the first key. */
const serverFor = (redis: Redis, [key]: readonly string[]): Redis =>
  key === undefined ? redis : connectionOf(redis, shardOfKey(key));

/** Removes other versions' scripts, which reload them when needed. */
export async function forgetOtherScripts(redis: Redis): Promise<void> {
  const libraries = (await redis.call('FUNCTION', 'LIST', 'LIBRARYNAME', `${PREFIX}*`)) as [string, string][];
  if (libraries.length === 0) return;
  const files = new Set(readdirSync(LUA_FOLDER));
  // Only scripts that Redis has are read.
  const isOwn = (name: string): boolean => {
    const file = name.slice(PREFIX.length, name.lastIndexOf('_'));
    return files.has(`${file}.lua`) && scriptNamed(file).name === name;
  };
  for (const [, name] of libraries) {
    if (isOwn(name)) continue;
    try {
      await redis.call('FUNCTION', 'DELETE', name);
    } catch (error) {
      if (!isError(error, 'not found')) throw error;
    }
  }
}

const isError = (error: unknown, text: string): boolean => error instanceof Error && error.message.includes(text);
