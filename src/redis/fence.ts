import type { Redis } from 'ioredis';

/**
 * Keeps a command that was sent over a connection that broke from being executed later. A Redis that hangs, or has
 * not come to it yet, finds the command in its buffers although the sender is gone, and the same command sent again
 * over a new connection may overtake it. Before it is sent again the old connection is closed in Redis itself: what
 * Redis had not read of it by then, it never reads.
 */
export class Fence {
  private static readonly fences = new WeakMap<Redis, Fence>();
  private readonly redis: Redis;
  private id: number | null = null;

  /** The one of a client. The first time that it is asked for, the connection is not known yet. */
  static of(redis: Redis): Fence {
    let fence = Fence.fences.get(redis);
    if (fence === undefined) Fence.fences.set(redis, (fence = new Fence(redis)));
    return fence;
  }

  private constructor(redis: Redis) {
    this.redis = redis;
    redis.on('ready', () => void this.ask());
    redis.on('close', () => (this.id = null));
    if (redis.status === 'ready') void this.ask();
  }

  /** The connection that commands go out over now, as Redis numbers it; null while that is not known. */
  get connection(): number | null {
    return this.id;
  }

  /** Resolves when nothing of the connection will be executed any more. Errors are those of Redis and of the new connection. */
  async close(connection: number): Promise<void> {
    await this.redis.client('KILL', 'ID', connection);
  }

  private async ask(): Promise<void> {
    const id = await this.redis.client('ID').catch(() => null);
    if (this.redis.status === 'ready') this.id = id;
  }
}
