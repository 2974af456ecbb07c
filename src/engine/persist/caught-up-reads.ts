import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { AppError } from '../../errors.ts';
import { storedStateAndMove } from '../../postgres/users/row-moves.ts';
import { hasRemoval } from '../../postgres/users/row-removals.ts';
import { packedUser, tenantParts, userPart } from '../../redis/parts.ts';
import { lastPosition } from '../../redis/outbox.ts';
import { UserReads } from '../users/user-reads.ts';
import { areRowsMoved, cursorReaches, signalAwaited } from './cursor-wait.ts';

/** How long a read waits while the cursor stands still, and while it moves. */
export interface ReadPatience {
  stillMs: number;
  movingMs: number;
}
const PATIENCE: ReadPatience = { stillMs: 2_000, movingMs: 5_000 };

/** Makes reads of Postgres include everything answered before: waits up to 5 s, for a cursor that stands still 2 s. */
export class CaughtUp {
  private readonly redis: Redis;
  private readonly pool: Pool;
  private readonly patience: ReadPatience;
  /** By shard: a cursor that did not move while a caller waited. */
  private readonly stuckAt = new Map<number, string>();

  constructor({ redis, pool, patience }: { redis: Redis; pool: Pool; patience?: ReadPatience | undefined }) {
    this.redis = redis;
    this.pool = pool;
    this.patience = patience ?? PATIENCE;
  }

  async tenant(tenantNo: number): Promise<void> {
    await Promise.all(tenantParts(this.redis, tenantNo).map(({ shard }) => this.shard(shard)));
  }

  private async shard(shard: number): Promise<void> {
    const position = await lastPosition(this.redis, shard);
    const say = signalAwaited(this.redis, shard);
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

  /** Waits for one user. Returns at once if Postgres holds the user's current state, and the rows of users merged into this one. Throws 503 if those of a deleted user with this ID are still there. */
  async user(tenantNo: number, userId: string): Promise<void> {
    const [live, stored] = await Promise.all([
      packedUser(this.redis, tenantNo, userId),
      storedStateAndMove(this.pool, { tenantNo, userId }),
    ]);
    if (live === null) return;
    const isStored = stored !== null && live.equals(stored.state);
    if (!isStored) await this.shard(userPart(this.redis, tenantNo, userId).shard);
    // A merge may have been among the entries that were stored meanwhile.
    if (isStored && !stored.isMoving) return;
    if (await areRowsMoved(this.pool, { tenantNo, userId }, this.patience.movingMs)) return;
    // A history may lack rows for a moment, but must not have those of a deleted user.
    if (await hasRemoval(this.pool, { tenantNo, userId }))
      throw new AppError('unavailable', 'A deleted user with this ID still has rows; try again in a moment.');
  }
}

/** Reads users whose rows in Postgres are then at least as new as their states. */
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
