import type { Redis } from 'ioredis';

/**
 * Prevents Redis from executing a command that was sent over a connection that broke. A Redis that hangs may still have the command
 * in its buffers, and execute it after the same command that was sent again over a new connection. So the old connection is
 * killed in Redis before anything is sent again.
 */
export class ConnectionKiller {
  private static readonly killers = new WeakMap<Redis, ConnectionKiller>();
  private readonly redis: Redis;
  private id: number | null = null;

  /** The one of a client. The first call only begins to ask for the connection's ID. */
  static of(redis: Redis): ConnectionKiller {
    let killer = ConnectionKiller.killers.get(redis);
    if (killer === undefined) ConnectionKiller.killers.set(redis, (killer = new ConnectionKiller(redis)));
    return killer;
  }

  private constructor(redis: Redis) {
    this.redis = redis;
    redis.on('ready', () => void this.ask());
    redis.on('close', () => (this.id = null));
    if (redis.status === 'ready') void this.ask();
  }

  /** The ID that Redis gave to the present connection; null while it is unknown. */
  get connectionId(): number | null {
    return this.id;
  }

  /** Resolves when Redis will execute nothing more of a connection. Errors are those of Redis and of the new connection. */
  async killConnection(id: number): Promise<void> {
    await this.redis.client('KILL', 'ID', id);
  }

  private async ask(): Promise<void> {
    const id = await this.redis.client('ID').catch(() => null);
    if (this.redis.status === 'ready') this.id = id;
  }
}

/**
 * Connects again, to where the name or the Sentinels lead now. Does nothing while a connection is being made: the client would end
 * for good if it were interrupted while it asks the Sentinels.
 */
export function connectAgain(redis: Redis): void {
  if (redis.status === 'ready' || redis.status === 'connect') redis.disconnect(true);
}
