import { type ChainableCommander, Redis, type RedisOptions } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { fieldsOf } from '../settings/redis-address.ts';
import { repliesOf } from './commands.ts';
import { REPLICATED_CHANNEL, replicatedKey } from './keys.ts';
import { connectAgain } from './outage.ts';
import { readRedisProcessId } from './server-info.ts';

/** Writes a key on the master and its replicas, without an entry in the master's log. */
const WRITE_REPLICATED = "redis.set_repl(redis.REPL_REPLICA) redis.call('SET', KEYS[1], '')";

/**
 * Adds a command that Redis replicates but does not log, so that WAIT has something to wait for. `shard`: null, or in a
 * cluster, which does not replicate published messages, a shard that the master serves.
 */
const follow = (pipeline: ChainableCommander, shard: number | null): ChainableCommander =>
  shard === null ? pipeline.publish(REPLICATED_CHANNEL, '') : pipeline.eval(WRITE_REPLICATED, 1, replicatedKey(shard));

export interface Attached {
  /** The master's replication offset in bytes. */
  offset: number;
  /** The offset that each replica reported, by `<host>:<port>`. */
  replicas: ReadonlyMap<string, number>;
}

/**
 * The replicas of a master that must hold each write: all that keep up. One of several is not enough, because Sentinels may
 * promote another one, which would lose the write.
 *
 * New replicas join automatically, as do lagging ones that catch up. None leaves automatically: if one is missing, the caller
 * must first make sure that the master is still the master; see `ReplicaAcknowledgement`.
 */
export class InSyncReplicas {
  private readonly members: Set<string>;
  /** Attached, but too far behind to wait for. */
  private readonly lagging: Set<string>;
  /** The master's offset one round earlier. */
  private offset: number;

  private constructor({ offset, replicas }: Attached) {
    const names = [...replicas.keys()];
    this.members = new Set(names.filter((name) => replicas.get(name)! >= offset));
    this.lagging = new Set(names.filter((name) => !this.members.has(name)));
    this.offset = offset;
  }

  /** The replicas that receive earlier writes within `timeoutMs`; `null` if none. Throws errors of Redis. */
  static async find(redis: Redis, shard: number | null, timeoutMs: number): Promise<InSyncReplicas | null> {
    const { replicas } = attachedOf(await redis.call('ROLE'));
    if (replicas.size === 0) return null;
    const before = follow(redis.pipeline(), shard).call('ROLE');
    const [, atFirst, , inTheEnd] = await repliesOf(before.wait(replicas.size, timeoutMs).call('ROLE'));
    const { offset } = attachedOf(atFirst);
    const inSync = new InSyncReplicas({ offset, replicas: attachedOf(inTheEnd).replicas });
    return inSync.members.size === 0 ? null : inSync;
  }

  get count(): number {
    return this.members.size;
  }

  /**
   * Waits until as many replicas have the master's earlier writes, then returns the offset that all members have. Returns the
   * master's report if that takes longer than `waitMs` or a member is missing. The offsets decide because WAIT may count other
   * replicas. Rounds may run on several connections at once. Throws errors of Redis.
   */
  async held(redis: Redis, shard: number | null, waitMs: number): Promise<number | Attached> {
    const { members } = this;
    const replicaCount = members.size;
    const round = follow(redis.pipeline(), shard).wait(replicaCount, waitMs).call('ROLE');
    const [, waited, role] = await repliesOf(round);
    const attached = attachedOf(role);
    const { offset, replicas } = attached;
    if (Number(waited) < replicaCount || [...members].some((name) => !replicas.has(name))) return attached;
    const heldOffset = Math.min(...[...members].map((name) => replicas.get(name)!));
    for (const [name, has] of replicas) if (!this.lagging.has(name) || has >= this.offset) this.join(name);
    this.offset = offset;
    return heldOffset;
  }

  /** Members that the master no longer reports or whose offset is below `offset`. */
  behind({ replicas }: Attached, offset: number): string[] {
    return [...this.members].filter((name) => (replicas.get(name) ?? -1) < offset);
  }

  /** Members that the master no longer reports. Throws errors of Redis. */
  async missing(redis: Redis): Promise<string[]> {
    return this.behind(attachedOf(await redis.call('ROLE')), 0);
  }

  private join(name: string): void {
    this.members.add(name);
    this.lagging.delete(name);
  }
}

/** The replication offset in a master's reply to ROLE; `null` from other servers. */
export function offsetOf(role: unknown): number | null {
  const [kind, offset] = role as [string, number];
  return kind === 'master' ? Number(offset) : null;
}

/** The number of replicas connected to a master. Throws errors of Redis. */
export const connectedReplicas = async (redis: Redis): Promise<number> =>
  attachedOf(await redis.call('ROLE')).replicas.size;

/** Parses a reply to ROLE. A replica reports no replicas. */
function attachedOf(role: unknown): Attached {
  const [kind, offset, replicas] = role as [string, number, [string, string, string][]];
  if (kind !== 'master') return { offset: 0, replicas: new Map() };
  return {
    offset: Number(offset),
    replicas: new Map(replicas.map(([host, port, has]) => [`${host}:${port}`, Number(has)])),
  };
}

/** A replication offset of a Redis process, observed over one connection. */
export interface Place {
  redisProcessId: string;
  connection: number;
  offset: number;
  /** When it was requested or reported (`performance.now()`). */
  atMs: number;
}

interface Waiting {
  place: Place;
  sinceMs: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

export class WaitingWrites {
  private waiting: Waiting[] = [];
  private held: Place | null = null;

  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }

  /** Resolves when the replicas have everything up to a place. Rejects if the history has changed, or through `reject`. */
  wait(place: Place): Promise<void> {
    const { held } = this;
    // A report from before the write cannot include it, whatever its offset.
    if (held !== null && held.atMs >= place.atMs && covers(held, place)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.waiting.push({ place, sinceMs: performance.now(), resolve, reject });
    });
  }

  /** Whether a write has been waiting since before a time (`performance.now()`). */
  isSince(beforeMs: number): boolean {
    return this.waiting.some(({ sinceMs }) => sinceMs < beforeMs);
  }

  /** Resolves writes up to `held`, which the replicas have. `otherwise` creates the error for writes of another history. */
  settle(held: Place, otherwise: () => Error): void {
    // The later of two rounds may end first.
    if (this.held === null || !covers(this.held, held)) this.held = held;
    const { waiting } = this;
    this.waiting = [];
    for (const one of waiting) {
      if (covers(held, one.place)) one.resolve();
      else if (isSame(held, one.place)) this.waiting.push(one);
      else one.reject(otherwise());
    }
  }

  reject(error: () => Error): void {
    for (const one of this.waiting.splice(0)) one.reject(error());
  }
}

const isSame = (one: Place, other: Place): boolean =>
  one.redisProcessId === other.redisProcessId && one.connection === other.connection;

const covers = (held: Place, place: Place): boolean => isSame(held, place) && held.offset >= place.offset;

/** How much longer than its timeout a WAIT may take. */
const OVERDUE_MS = 2_000;
const LOOK_MS = 10;
/** A connection younger than this certainly leads to the present master. */
const FRESH_MS = 1_000;

/** A connection for rounds of WAIT, one at a time, because WAIT blocks later commands. */
export class RoundConnection {
  readonly redis: Redis;
  isBusy = false;
  /** The Redis process that it leads to; `null` until known. */
  private redisProcessId: string | null = null;
  private connectedMs = -Infinity;
  private readonly ending: AbortSignal;

  /** Duplicates `redis`. `timeoutMs`: timeout of each WAIT. Closes when `ending` aborts. */
  constructor(redis: Redis, timeoutMs: number, ending: AbortSignal) {
    this.ending = ending;
    this.redis = redis.duplicate({ socketTimeout: timeoutMs + OVERDUE_MS });
    this.redis.on('close', () => (this.redisProcessId = null));
    this.redis.on('connect', () => (this.connectedMs = performance.now()));
    // The connection that writes reports problems with Redis.
    this.redis.on('error', () => undefined);
    ending.addEventListener('abort', () => this.redis.disconnect());
  }

  /** Resolves when the connection is ready, or after `timeoutMs`. */
  async ready(timeoutMs: number): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    while (this.redis.status !== 'ready' && performance.now() < deadlineMs && !this.ending.aborted)
      await sleep(LOOK_MS);
  }

  /**
   * Whether the connection leads to a Redis process. `former`: it does not, although it is new, so that process was
   * superseded. `elsewhere`: it was reconnected. Throws errors of Redis.
   */
  async leadsTo(redisProcessId: string): Promise<'there' | 'elsewhere' | 'former'> {
    if (this.redisProcessId === redisProcessId) return 'there';
    const { connectedMs } = this;
    this.redisProcessId = await readRedisProcessId(this.redis).catch((error: unknown) => {
      this.renew();
      throw error;
    });
    if (this.redisProcessId === redisProcessId) return 'there';
    if (performance.now() - connectedMs <= FRESH_MS) return 'former';
    this.renew();
    return 'elsewhere';
  }

  isOlderThan(ms: number): boolean {
    return performance.now() - this.connectedMs > ms;
  }

  /** Reconnects to where the name or the Sentinels now lead. */
  renew(): void {
    if (!this.ending.aborted) connectAgain(this.redis);
  }
}

/** Time limit for a Sentinel to connect and to answer. */
const PATIENCE_MS = 500;

interface View {
  /** The Sentinel's own ID. */
  id: string;
  master: ReadonlyMap<string, string>;
  replicas: readonly ReadonlyMap<string, string>[];
}

/**
 * Whether the Sentinels rule out that one of `replicas`, which were missing before the call, is the master or becomes it before they
 * reach it again. True only if all Sentinels of the address answer, know of no other Sentinels, report no problem with the master
 * and no failover, and have no connection to these replicas. A Sentinel names the new master from the moment of the takeover,
 * reports a failover before that, and promotes only replicas that it reaches (decision 30).
 *
 * `options`: those of a connection through Sentinels; otherwise the result is false. `master`: its run_id. `replicas`:
 * `<host>:<port>`, as the master reports them. Never rejects.
 */
export async function cannotHaveTakenOver(
  options: RedisOptions,
  master: string,
  replicas: readonly string[],
): Promise<boolean> {
  const { sentinels, name } = options;
  if (sentinels === undefined || sentinels === null || sentinels.length === 0 || name === undefined) return false;
  let views: View[];
  try {
    views = await Promise.all(sentinels.map((address) => viewOf({ ...options, ...address }, name)));
  } catch {
    return false;
  }
  return (
    new Set(views.map(({ id }) => id)).size === views.length &&
    views.every(
      (view) =>
        view.master.get('flags') === 'master' &&
        view.master.get('runid') === master &&
        view.master.get('num-other-sentinels') === String(views.length - 1) &&
        replicas.every((replica) => isUnreachable(view, replica)),
    )
  );
}

/** Whether a Sentinel has no connection to a replica, or considers it down. */
function isUnreachable(view: View, replica: string): boolean {
  const fields = view.replicas.find((each) => `${each.get('ip')}:${each.get('port')}` === replica);
  const flags = fields?.get('flags')?.split(',') ?? [];
  return flags.includes('slave') && (flags.includes('disconnected') || flags.includes('s_down'));
}

/** Rejects if the Sentinel does not answer or does not know the master. */
async function viewOf(options: RedisOptions, name: string): Promise<View> {
  const { host, port, family, sentinelUsername, sentinelPassword, sentinelTLS, enableTLSForSentinelMode } = options;
  const redis = new Redis({
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port }),
    ...(family !== undefined && { family }),
    ...(typeof sentinelUsername === 'string' && { username: sentinelUsername }),
    ...(typeof sentinelPassword === 'string' && { password: sentinelPassword }),
    ...(enableTLSForSentinelMode === true && sentinelTLS !== undefined && { tls: sentinelTLS }),
    lazyConnect: true,
    connectTimeout: PATIENCE_MS,
    commandTimeout: PATIENCE_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    const [id, master, replicas] = await Promise.all([
      redis.call('SENTINEL', 'MYID'),
      redis.call('SENTINEL', 'MASTER', name),
      redis.call('SENTINEL', 'REPLICAS', name),
    ]);
    return { id: String(id), master: fieldsOf(master), replicas: (replicas as unknown[]).map(fieldsOf) };
  } finally {
    redis.disconnect();
  }
}
