import type { Redis } from 'ioredis';

/**
 * Prevents Redis from executing a command that was sent over a broken connection. A hanging Redis may still have the command in
 * its buffers and execute it after the retry on a new connection. So the old connection is killed in Redis before anything is sent
 * again.
 */
export class ConnectionKiller {
  private static readonly killers = new WeakMap<Redis, ConnectionKiller>();
  private readonly redis: Redis;
  private id: number | null = null;

  /** The killer of a client. The first call starts requesting the connection's ID. */
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

  /** Redis's ID of the current connection; `null` if not known yet. */
  get connectionId(): number | null {
    return this.id;
  }

  /** Resolves when Redis will execute nothing more from a connection. Throws errors of Redis and of the new connection. */
  async killConnection(id: number): Promise<void> {
    await this.redis.client('KILL', 'ID', id);
  }

  private async ask(): Promise<void> {
    const id = await this.redis.client('ID').catch(() => null);
    if (this.redis.status === 'ready') this.id = id;
  }
}

/**
 * Reconnects to where the name or the Sentinels now lead. Does nothing while the client connects: interrupting it while it asks the
 * Sentinels would end it for good.
 */
export function connectAgain(redis: Redis): void {
  if (redis.status === 'ready' || redis.status === 'connect') redis.disconnect(true);
}
