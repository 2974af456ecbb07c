import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { User } from '../../domain/user.ts';
import { listUsers, searchUsers } from '../../postgres/users/find-users.ts';
import { userKey } from '../../redis/keys.ts';
import { decodeState } from '../../packed/state.ts';
import type { CaughtUp } from '../persisted/caught-up.ts';
import { userResponse } from '../responses/user-response.ts';

export interface UserDirectoryOptions {
  redis: Redis;
  pool: Pool;
  caughtUp: Pick<CaughtUp, 'tenant'>;
  controlShare: () => number;
}

/** A tenant's users, to look through. */
export class UserDirectory {
  private readonly options: UserDirectoryOptions;

  constructor(options: UserDirectoryOptions) {
    this.options = options;
  }

  /**
   * Users in the order of their IDs, or those found by `search`, see `searchUsers`. All whose events were answered
   * before are there, unless Postgres is so far behind that `caughtUp` stops waiting; what is listed of them is current,
   * and who was deleted is never listed.
   */
  async list(
    compiled: CompiledCatalog,
    { limit, skip, search }: { limit: number; skip: number; search?: string | undefined },
  ): Promise<User[]> {
    const { redis, pool, caughtUp, controlShare } = this.options;
    const { tenantNo } = compiled.catalog;
    await caughtUp.tenant(tenantNo);
    const page = { tenantNo, limit, skip };
    const ids =
      search === undefined || search === '' ? await listUsers(pool, page) : await searchUsers(pool, search, page);
    if (ids.length === 0) return [];
    const states = await redis.mgetBuffer(ids.map((id) => userKey(tenantNo, id)));
    return ids.flatMap((userId, index) => {
      const packed = states[index];
      if (!packed) return [];
      return [userResponse(compiled, { userId, state: decodeState(packed), controlShare: controlShare() })];
    });
  }
}
