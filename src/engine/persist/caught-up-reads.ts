/** Reads that wait for Postgres first. */
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { storedState } from '../../postgres/users/stored-states.ts';
import { shardOf, userKey } from '../../redis/keys.ts';
import { lastPosition } from '../../redis/outbox.ts';
import { UserReads } from '../users/user-reads.ts';
import { cursorReaches, sayAwaited } from './cursor-wait.ts';

/** How long a read waits while nothing moves, and while it does. */
const PATIENCE = { stillMs: 2_000, movingMs: 5_000 };

/**
 * Lets reads of Postgres follow what was answered before: they wait for it as long as it comes nearer, 5 s at most,
 * and then read what there is. One that stands still is waited for 2 s, and once, not by everyone.
 */
export class CaughtUp {
  private readonly redis: Redis;
  private readonly pool: Pool;
  private readonly patience: typeof PATIENCE;
  /** By shard: the cursor that did not move for as long as a caller waited. */
  private readonly stuckAt = new Map<number, string>();

  constructor({ redis, pool, patience = PATIENCE }: { redis: Redis; pool: Pool; patience?: typeof PATIENCE }) {
    this.redis = redis;
    this.pool = pool;
    this.patience = patience;
  }

  /** Waits for all of a tenant. */
  async tenant(tenantNo: number): Promise<void> {
    const shard = shardOf(tenantNo);
    const position = await lastPosition(this.redis, shard);
    const say = sayAwaited(this.redis, shard);
    const { end, cursor } = await cursorReaches(this.pool, shard, {
      position,
      ...this.patience,
      onBehind: (at) => {
        say();
        return at === this.stuckAt.get(shard);
      },
    });
    if (end === 'still') this.stuckAt.set(shard, cursor);
  }

  /** Waits for one user, not at all where Postgres holds the user's state: one look-up in each. */
  async user(tenantNo: number, userId: string): Promise<void> {
    const [live, stored] = await Promise.all([
      this.redis.getBuffer(userKey(tenantNo, userId)),
      storedState(this.pool, { tenantNo, userId }),
    ]);
    if (live === null || (stored !== null && live.equals(stored))) return;
    await this.tenant(tenantNo);
  }
}

/** Reads of users for whom Postgres is read besides: what it holds then is no older than the state. */
export class CaughtUpUsers extends UserReads {
  private readonly caughtUp: CaughtUp;

  constructor({ redis, caughtUp }: { redis: Redis; caughtUp: CaughtUp }) {
    super(redis);
    this.caughtUp = caughtUp;
  }

  override async state(...[tenantNo, userId]: Parameters<UserReads['state']>): ReturnType<UserReads['state']> {
    const state = await super.state(tenantNo, userId);
    await this.caughtUp.user(tenantNo, userId);
    return state;
  }
}
