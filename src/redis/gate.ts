import type { Redis } from 'ioredis';
import {
  type Accepted,
  isAsAccepted,
  lastAccepted,
  nextState,
  NOT_INSPECTED,
  redisProcessIdOf,
  runIdOf,
  type ShardEvent,
  type ShardState,
  type Sight,
} from '../domain/shard-state.ts';
import { connectionOf } from './endpoints.ts';
import { markKey, neverKey, SHARD_NUMBERS } from './keys.ts';
import type { ReplicaAcknowledgement } from './replica-acknowledgement.ts';

/** Redis may not hold everything that Postgres does. Answered with 503; nothing was done. */
export class RedisNotReady extends Error {
  constructor() {
    super('Redis is unreachable, or this process is still checking whether it holds the same data as Postgres.');
    this.name = 'RedisNotReady';
  }
}

/** What a function checks in its Redis before it does anything; see `libraryText`. */
export interface Belief {
  /** `neverKey` of the key that holds a mark. */
  key: string;
  /** The expected mark and Redis process: `<mark>/<run_id>`. */
  value: string;
}

/** The belief that a key holds a mark in a Redis process. */
export const beliefOf = (key: string, mark: string, redisProcessId: string): Belief => ({
  key: neverKey(key),
  value: `${mark}/${runIdOf(redisProcessId)}`,
});

const gates = new WeakMap<Redis, Gate>();

/**
 * The states of one server's shards in this process (`shard-state.ts`). Functions are called only on open shards. Initially all
 * shards are closed.
 *
 * All shards close when the connection closes, before the client can reconnect: another Redis, empty or older, may answer
 * then. The client never resends a command, and each function checks the belief in its Redis. So a call reaches the Redis
 * that was inspected, or nothing.
 */
export class Gate {
  /** Waits until a replica holds a write; `null` if the master's reply suffices. */
  acknowledgement: ReplicaAcknowledgement | null = null;
  private held: readonly number[];
  private readonly states: ShardState[] = SHARD_NUMBERS.map(() => NOT_INSPECTED);
  private readonly beliefs: (Belief | null)[] = SHARD_NUMBERS.map(() => null);
  private connections = 0;
  private attempts = 0;
  private closing = new AbortController();
  private readonly listeners = new Set<() => void>();

  /** Registers the gate: functions called over this connection now check it. `shards`: those on its server. */
  constructor(redis: Redis, shards = SHARD_NUMBERS) {
    this.held = shards;
    gates.set(redis, this);
    redis.on('close', () => {
      this.connections += 1;
      this.dispatch({ type: 'disconnected' });
    });
  }

  /** Sends an event to some shards, by default to all of this server. Returns the shards that need an inspection. */
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

  /** Begins an inspection of some shards. Its later events refer to it by the returned number. */
  beginInspection(shards: readonly number[]): number {
    this.attempts += 1;
    this.dispatch({ type: 'inspection began', attempt: this.attempts }, shards);
    return this.attempts;
  }

  /** Opens the shards that an inspection accepted, except those that closed meanwhile. */
  accept(attempt: number, accepted: ReadonlyMap<number, Accepted>): void {
    const own = [...accepted.keys()].filter((shard) => this.holds(shard));
    this.dispatch((shard) => ({ type: 'accepted', attempt, accepted: accepted.get(shard)! }), own);
  }

  refused(shard: number, belief: Belief): void {
    // If the shard has reopened since, a later inspection accepted it.
    if (this.beliefs[shard] === belief) this.dispatch({ type: 'refused' }, [shard]);
  }

  /** Call this when Redis and Postgres contradict each other about a shard. */
  contradicted(shard: number): void {
    this.dispatch({ type: 'contradicted' }, [shard]);
  }

  state(shard: number): ShardState {
    return this.states[shard]!;
  }

  get accepted(): readonly (Accepted | null)[] {
    return this.states.map(lastAccepted);
  }

  isAsAccepted(shard: number, sight: Sight): boolean {
    return isAsAccepted(this.states[shard]!, sight);
  }

  /** The storage epoch of an open shard; `null` if the shard is closed. */
  storageEpochOf(shard: number): string | null {
    const state = this.states[shard]!;
    return state.name === 'open' ? state.accepted.storageEpoch : null;
  }

  belief(shard: number): Belief | null {
    return this.beliefs[shard] ?? null;
  }

  isOpen(shard: number): boolean {
    return this.states[shard]?.name === 'open';
  }

  /** The shards placed on this server. */
  get own(): readonly number[] {
    return this.held;
  }

  holds(shard: number): boolean {
    return this.held.includes(shard);
  }

  /** Records that the cluster now serves a shard here. `last`: the identity accepted last, on whichever server. */
  take(shard: number, last: Accepted | null): void {
    this.held = [...this.held, shard].toSorted((a, b) => a - b);
    this.dispatch({ type: 'placed here', last }, [shard]);
  }

  /** Records that the cluster serves a shard elsewhere. Returns the identity accepted last. */
  release(shard: number): Accepted | null {
    const last = lastAccepted(this.state(shard));
    this.held = this.held.filter((each) => each !== shard);
    this.dispatch({ type: 'placed elsewhere' }, [shard]);
    return last;
  }

  get isWhole(): boolean {
    return this.held.every((shard) => this.isOpen(shard));
  }

  get closedShards(): number[] {
    return this.held.filter((shard) => !this.isOpen(shard));
  }

  /** The Redis process of the open shards; `null` if all are closed. */
  get redisProcessId(): string | null {
    for (const state of this.states) if (state.name === 'open') return redisProcessIdOf(state.accepted.storageEpoch);
    return null;
  }

  /** Aborted when a shard closes. Replaced when all shards are open again. */
  get closes(): AbortSignal {
    return this.closing.signal;
  }

  /** Changes with each new connection. */
  get connection(): number {
    return this.connections;
  }

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

/** The gate of a connection; `undefined` if there is none (tests, tools). */
export const gateOf = (redis: Redis): Gate | undefined => gates.get(redis);

/** Whether functions may currently be called on a shard over this connection. */
export const isOpen = (redis: Redis, shard: number): boolean =>
  gates.get(connectionOf(redis, shard))?.isOpen(shard) !== false;

/** Resolves when what Redis replied about a shard is safe to report. Throws NotReplicated. */
export async function acknowledged(redis: Redis, shard: number): Promise<void> {
  await gates.get(connectionOf(redis, shard))?.acknowledgement?.wait();
}

/** Call this before a write that `acknowledged` will wait for. Throws NotReplicated if no replica would acknowledge it. */
export const refuseUnacknowledged = (redis: Redis, shard: number): void =>
  gates.get(connectionOf(redis, shard))?.acknowledgement?.refuseAway();
