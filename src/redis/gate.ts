import type { Redis } from 'ioredis';
import {
  isAsAccepted,
  lastAccepted,
  nextState,
  NOT_INSPECTED,
  type Accepted,
  type ShardEvent,
  type ShardState,
  type Sight,
} from '../domain/shard-state.ts';
import { redisProcessIdOf, runIdOf } from '../domain/storage-epoch.ts';
import { connectionOf } from './endpoints.ts';
import { markKey, SHARD_NUMBERS } from './keys.ts';
import type { ReplicaAcknowledgement } from './replica-acknowledgement.ts';

/** Thrown instead of writing to a Redis that may not hold what Postgres does: answered 503. Nothing was done. */
export class RedisNotReady extends Error {
  constructor() {
    super('Redis is away, or this process is still checking whether it holds what Postgres does.');
    this.name = 'RedisNotReady';
  }
}

/** What a function compares with its Redis before it does anything, see `libraryText`. */
export interface Belief {
  /** A key that holds a mark. */
  key: string;
  /** The expected mark and Redis process: `<mark>/<run_id>`. */
  value: string;
}

/** That a key holds a mark, in a Redis process. */
export const beliefOf = (key: string, mark: string, redisProcessId: string): Belief => ({
  key,
  value: `${mark}/${runIdOf(redisProcessId)}`,
});

const gates = new WeakMap<Redis, Gate>();

/**
 * The states of the shards of one server in this process (`shard-state.ts`). Functions are called only on open shards. All shards
 * close when the connection closes, before the client can connect again: the Redis that answers then may be empty or older. The
 * client sends nothing twice and a function compares the belief with its Redis, so a call reaches the Redis that was inspected,
 * or nothing. At first all shards are closed.
 */
export class Gate {
  /** Waits until a replica has what was written; null if the master's reply is enough. */
  acknowledgement: ReplicaAcknowledgement | null = null;
  private held: readonly number[];
  private readonly states: ShardState[] = SHARD_NUMBERS.map(() => NOT_INSPECTED);
  private readonly beliefs: (Belief | null)[] = SHARD_NUMBERS.map(() => null);
  private connections = 0;
  private attempts = 0;
  private closing = new AbortController();
  private readonly listeners = new Set<() => void>();

  /** From now on functions that are called over this connection ask the gate. `shards`: those that its server holds. */
  constructor(redis: Redis, shards = SHARD_NUMBERS) {
    this.held = shards;
    gates.set(redis, this);
    redis.on('close', () => {
      this.connections += 1;
      this.dispatch({ type: 'disconnected' });
    });
  }

  /** Sends an event to some shards, by default to all of this server. Returns those that have to be inspected. */
  dispatch(event: ShardEvent | ((shard: number) => ShardEvent), shards: readonly number[] = this.held): number[] {
    const toInspect: number[] = [];
    let isAnnounced = false;
    for (const shard of shards) {
      const before = this.states[shard]!;
      const { state, effects } = nextState(before, typeof event === 'function' ? event(shard) : event);
      if (effects.includes('inspect')) toInspect.push(shard);
      if (effects.includes('announce')) isAnnounced = true;
      if (state === before) continue;
      this.states[shard] = state;
      this.beliefs[shard] = state.name === 'open' ? beliefOfOpen(shard, state.accepted) : null;
    }
    if (isAnnounced) this.announce();
    return toInspect;
  }

  /** Begins an inspection of some shards, which its other events name by the number that this returns. */
  beginInspection(shards: readonly number[]): number {
    this.attempts += 1;
    this.dispatch({ type: 'inspection began', attempt: this.attempts }, shards);
    return this.attempts;
  }

  /** Opens the shards that an inspection accepted, unless they closed meanwhile. */
  accept(attempt: number, accepted: ReadonlyMap<number, Accepted>): void {
    const own = [...accepted.keys()].filter((shard) => this.holds(shard));
    this.dispatch((shard) => ({ type: 'accepted', attempt, accepted: accepted.get(shard)! }), own);
  }

  /** To be called when a function refused a call that was made with this belief. */
  refused(shard: number, belief: Belief): void {
    // A shard that opened again since then was inspected later.
    if (this.beliefs[shard] === belief) this.dispatch({ type: 'refused' }, [shard]);
  }

  /** To be called when Redis and Postgres contradict each other about a shard. */
  contradicted(shard: number): void {
    this.dispatch({ type: 'contradicted' }, [shard]);
  }

  state(shard: number): ShardState {
    return this.states[shard]!;
  }

  /** What was accepted last, by shard. */
  get accepted(): readonly (Accepted | null)[] {
    return this.states.map(lastAccepted);
  }

  isAsAccepted(shard: number, sight: Sight): boolean {
    return isAsAccepted(this.states[shard]!, sight);
  }

  /** The storage epoch of an open shard; null while it is closed. */
  storageEpochOf(shard: number): string | null {
    const state = this.states[shard]!;
    return state.name === 'open' ? state.accepted.storageEpoch : null;
  }

  /** What a function has to find in an open shard; null while it is closed. */
  belief(shard: number): Belief | null {
    return this.beliefs[shard] ?? null;
  }

  isOpen(shard: number): boolean {
    return this.states[shard]?.name === 'open';
  }

  /** The shards that are placed on this server. */
  get own(): readonly number[] {
    return this.held;
  }

  /** Whether a shard is placed on this server. */
  holds(shard: number): boolean {
    return this.held.includes(shard);
  }

  /** From now on a shard is placed on this server. */
  take(shard: number): void {
    this.held = [...this.held, shard].toSorted((a, b) => a - b);
    this.dispatch({ type: 'placed here' }, [shard]);
  }

  /** From now on a shard is placed on another server. */
  release(shard: number): void {
    this.held = this.held.filter((each) => each !== shard);
    this.dispatch({ type: 'placed elsewhere' }, [shard]);
  }

  /** Whether all shards of this server are open. */
  get isWhole(): boolean {
    return this.held.every((shard) => this.isOpen(shard));
  }

  /** The shards of this server that are not open. */
  get closedShards(): number[] {
    return this.held.filter((shard) => !this.isOpen(shard));
  }

  /** The Redis process that open shards were accepted in; null while all are closed. */
  get redisProcessId(): string | null {
    for (const state of this.states) if (state.name === 'open') return redisProcessIdOf(state.accepted.storageEpoch);
    return null;
  }

  /** Aborted when a shard closes; replaced once all are open again. */
  get closes(): AbortSignal {
    return this.closing.signal;
  }

  /** Changes with each new connection. */
  get connection(): number {
    return this.connections;
  }

  /** Called whenever shards open or close; the returned function ends that. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  private announce(): void {
    if (!this.isWhole) this.closing.abort();
    else if (this.closing.signal.aborted) this.closing = new AbortController();
    for (const listener of this.listeners) listener();
  }
}

const beliefOfOpen = (shard: number, { mark, storageEpoch }: Accepted): Belief =>
  beliefOf(markKey(shard), mark, redisProcessIdOf(storageEpoch));

/** The gate of a connection; undefined if nobody guards it (tests, tools). */
export const gateOf = (redis: Redis): Gate | undefined => gates.get(redis);

/** Whether functions may be called on a shard over this connection now. */
export const isOpen = (redis: Redis, shard: number): boolean =>
  gates.get(connectionOf(redis, shard))?.isOpen(shard) !== false;

/**
 * Resolves when everything that Redis replied about a shard before the call is as safe as it has to be before a client learns of
 * it: at once, or when a replica has it. Throws NotReplicated.
 */
export async function acknowledged(redis: Redis, shard: number): Promise<void> {
  await gates.get(connectionOf(redis, shard))?.acknowledgement?.wait();
}

/** To be called before a write that `acknowledged` is asked about. Throws NotReplicated if no replica would acknowledge it. */
export const refuseUnacknowledged = (redis: Redis, shard: number): void =>
  gates.get(connectionOf(redis, shard))?.acknowledgement?.refuseAway();
