import type { Redis } from 'ioredis';
import type { ReplicaAcknowledgement } from './replica-acknowledgement.ts';

/** Thrown instead of writing to a Redis that is not known to hold what Postgres does: answered 503. Nothing was done. */
export class RedisNotReady extends Error {
  constructor() {
    super('Redis is not known to hold what Postgres does; it is being looked at or rebuilt.');
    this.name = 'RedisNotReady';
  }
}

const gates = new WeakMap<Redis, Gate>();

/**
 * Whether the Redis behind a connection was found to hold what Postgres does. It shuts when the connection breaks, before
 * another one can be made: what is there then may have come back empty or older, and must be checked again. So whatever
 * is sent while the gate is open goes to the Redis that was looked at, or nowhere: the client sends nothing twice.
 * A gate is shut at first.
 */
export class Gate {
  /** Waits for a replica to have what was written; null: the master's word is enough. */
  acknowledgement: ReplicaAcknowledgement | null = null;
  private openFence: string | null = null;
  private connections = 0;
  private doubted = false;
  private closing = new AbortController();
  private readonly listeners = new Set<(open: boolean) => void>();

  /** From now on scripts that are run on this connection ask the gate. */
  constructor(redis: Redis) {
    gates.set(redis, this);
    redis.on('close', () => {
      this.connections += 1;
      this.shut();
    });
  }

  /** What outboxes read now must be stored under, see `outbox_cursors.fence`; null while the gate is shut. */
  get fence(): string | null {
    return this.openFence;
  }

  /** Aborted when the gate shuts; another one after it opened again. */
  get shutting(): AbortSignal {
    return this.closing.signal;
  }

  /** Another number: the connection was another one. */
  get connection(): number {
    return this.connections;
  }

  /** Whether something was found amiss since it last opened: not even the same run of Redis is taken as it is then. */
  get isDoubted(): boolean {
    return this.doubted;
  }

  /** To be called where Redis and Postgres do not go together. */
  doubt(): void {
    this.doubted = true;
    this.shut();
  }

  /** Opens, if the connection is still the one that was looked at. */
  open(fence: string, connection: number): void {
    if (connection !== this.connections) return;
    this.doubted = false;
    const was = this.openFence;
    this.openFence = fence;
    if (was !== null) return;
    this.closing = new AbortController();
    this.notify(true);
  }

  /** To be called where something is found missing. */
  shut(): void {
    const was = this.openFence;
    this.openFence = null;
    if (was === null) return;
    this.closing.abort();
    this.notify(false);
  }

  /** Every opening and shutting from now on; the returned function ends that. */
  listen(listener: (open: boolean) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  private notify(open: boolean): void {
    for (const listener of this.listeners) listener(open);
  }
}

/** The gate of a connection; undefined: it has none, and nobody looks at what is behind it (tests, tools). */
export const gateOf = (redis: Redis): Gate | undefined => gates.get(redis);

/** Whether scripts may be sent on this connection now. */
export const isOpen = (redis: Redis): boolean => gates.get(redis)?.fence !== null;

/**
 * Resolves when what Redis answered before the call is as safe as it has to be before somebody hears of it: at once, or
 * when a replica has it. Throws NotReplicated.
 */
export async function acknowledged(redis: Redis): Promise<void> {
  await gates.get(redis)?.acknowledgement?.wait();
}

/** To be called before something is written that `acknowledged` is asked for. Throws NotReplicated where that is known to be in vain. */
export const refuseUnacknowledged = (redis: Redis): void => gates.get(redis)?.acknowledgement?.refuseAway();
