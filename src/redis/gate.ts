import type { Redis } from 'ioredis';
import { connectionOf } from './endpoints.ts';
import { markKey, SHARD_NUMBERS } from './keys.ts';
import type { ReplicaAcknowledgement } from './replica-acknowledgement.ts';
import { runOfFence, serverOf } from './run.ts';

/** Thrown instead of writing to a Redis that is not known to hold what Postgres does: answered 503. Nothing was done. */
export class RedisNotReady extends Error {
  constructor() {
    super('Redis is away, or this process is still checking whether it holds what Postgres does.');
    this.name = 'RedisNotReady';
  }
}

/** As what a shard was accepted. */
export interface Accepted {
  /** What its outbox must be stored under from now on, see `outbox_cursors.fence`. */
  fence: string;
  /** Its mark, see `markKey`. */
  mark: string;
}

/** What a script call compares in Redis before it does anything, see `libraryText`. */
export interface Belief {
  /** A key that holds a mark. */
  key: string;
  /** What it should hold, and which run of a Redis process this should be: `<mark>/<run_id>`. */
  value: string;
}

/** What is believed of a shard: its key holds a mark, in a run of a Redis process. */
export const beliefOf = (key: string, mark: string, run: string): Belief => ({
  key,
  value: `${mark}/${serverOf(run)}`,
});

interface Open extends Accepted {
  belief: Belief;
}

const gates = new WeakMap<Redis, Gate>();

/**
 * Whether each shard of the Redis behind a connection was found to hold what Postgres does. All shut when the connection
 * breaks, before another one can be made: what is there then may have come back empty or older, and must be checked again.
 * So whatever is sent while a shard is open goes to the Redis that was looked at, or nowhere: the client sends nothing twice,
 * and a script compares what is believed with where it runs. At first all are shut.
 */
export class Gate {
  /** Waits for a replica to have what was written; null: the master's word is enough. */
  acknowledgement: ReplicaAcknowledgement | null = null;
  private held: readonly number[];
  private readonly shards: (Open | null)[] = SHARD_NUMBERS.map(() => null);
  private readonly doubted = new Set<number>();
  private connections = 0;
  private closing = new AbortController();
  private readonly listeners = new Set<() => void>();

  /** From now on scripts that are run on this connection ask the gate. `shards`: those that its Redis holds. */
  constructor(redis: Redis, shards = SHARD_NUMBERS) {
    this.held = shards;
    gates.set(redis, this);
    redis.on('close', () => {
      this.connections += 1;
      this.shut();
    });
  }

  /** What a shard's outbox must be stored under now; null while the shard is shut. */
  fenceOf(shard: number): string | null {
    return this.shards[shard]?.fence ?? null;
  }

  /** What is believed of an open shard; null while it is shut. */
  belief(shard: number): Belief | null {
    return this.shards[shard]?.belief ?? null;
  }

  /** What is believed of each shard now, by its number. */
  get beliefs(): readonly (Belief | null)[] {
    return this.shards.map((shard) => shard?.belief ?? null);
  }

  isOpen(shard: number): boolean {
    return this.shards[shard] !== null;
  }

  /** The shards that are placed on this Redis. */
  get own(): readonly number[] {
    return this.held;
  }

  /** Whether a shard is placed on this Redis. */
  holds(shard: number): boolean {
    return this.held.includes(shard);
  }

  /** From now on a shard is placed on this Redis. It is shut until it is looked at. */
  take(shard: number): void {
    this.held = [...this.held, shard].toSorted((a, b) => a - b);
    this.closing.abort();
    this.notify();
  }

  /** From now on a shard is placed on another Redis: it is shut here for good. */
  release(shard: number): void {
    this.shut(shard);
    this.doubted.delete(shard);
    this.held = this.held.filter((each) => each !== shard);
    this.renew();
    this.notify();
  }

  /** Whether all shards of this Redis are open. */
  get isWhole(): boolean {
    return this.own.every((shard) => this.shards[shard] !== null);
  }

  /** The shards of this Redis that are shut. */
  get shutShards(): number[] {
    return this.own.filter((shard) => this.shards[shard] === null);
  }

  /** Whoever waits for a replica to have what was written to a shard; null: nobody has to. */
  acknowledgementOf(_shard: number): ReplicaAcknowledgement | null {
    return this.acknowledgement;
  }

  /** The run of Redis that the open shards were accepted in; null while all are shut. */
  get run(): string | null {
    const open = this.shards.find((shard) => shard !== null);
    return open === undefined || open === null ? null : runOfFence(open.fence);
  }

  /** Aborted when a shard shuts; another one once all are open again. */
  get shutting(): AbortSignal {
    return this.closing.signal;
  }

  /** Another number: the connection was another one. */
  get connection(): number {
    return this.connections;
  }

  /** Whether something was found amiss since the shard last opened: not even the same run of Redis is taken as it is then. */
  isDoubted(shard: number): boolean {
    return this.doubted.has(shard);
  }

  /** To be called where a shard and Postgres do not go together. */
  doubt(shard: number): void {
    this.doubted.add(shard);
    this.shut(shard);
  }

  /** Opens some shards, if the connection is still the one that was looked at. */
  open(accepted: ReadonlyMap<number, Accepted>, connection: number): void {
    if (connection !== this.connections) return;
    for (const [shard, { fence, mark }] of accepted) {
      // It was moved while it was looked at.
      if (!this.own.includes(shard)) continue;
      this.doubted.delete(shard);
      this.shards[shard] = { fence, mark, belief: beliefOf(markKey(shard), mark, runOfFence(fence)) };
    }
    this.renew();
    this.notify();
  }

  /** To be called where something of a shard is found missing, or of all of them. */
  shut(shard?: number): void {
    const open = (shard === undefined ? this.own : [shard]).filter((each) => this.shards[each] !== null);
    if (open.length === 0) return;
    for (const each of open) this.shards[each] = null;
    this.closing.abort();
    this.notify();
  }

  /** Called whenever shards open or shut; the returned function ends that. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  private renew(): void {
    if (this.isWhole && this.closing.signal.aborted) this.closing = new AbortController();
  }

  private notify(): void {
    for (const listener of this.listeners) listener();
  }
}

/** The gate of a connection; undefined: it has none, and nobody looks at what is behind it (tests, tools). */
export const gateOf = (redis: Redis): Gate | undefined => gates.get(redis);

/** Whether scripts may be sent to a shard on this connection now. */
export const isOpen = (redis: Redis, shard: number): boolean =>
  gates.get(connectionOf(redis, shard))?.isOpen(shard) !== false;

/**
 * Resolves when what Redis answered of a shard before the call is as safe as it has to be before somebody hears of it: at once,
 * or when a replica has it. Throws NotReplicated.
 */
export async function acknowledged(redis: Redis, shard: number): Promise<void> {
  await gates.get(connectionOf(redis, shard))?.acknowledgement?.wait();
}

/** To be called before something is written that `acknowledged` is asked for. Throws NotReplicated where that is known to be in vain. */
export const refuseUnacknowledged = (redis: Redis, shard: number): void =>
  gates.get(connectionOf(redis, shard))?.acknowledgement?.refuseAway();
