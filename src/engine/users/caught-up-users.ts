import type { Redis } from 'ioredis';
import type { CaughtUp } from '../persisted/caught-up.ts';
import { UserReads } from './user-reads.ts';

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
