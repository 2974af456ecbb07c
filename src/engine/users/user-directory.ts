import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { User } from '../../domain/user.ts';
import { listUsers, searchUsers } from '../../postgres/users/find-users.ts';
import { userKey } from '../../redis/keys.ts';
import { decodeState } from '../../redis/state.ts';
import { userResponse } from './user-response.ts';

/** A tenant's users, to look through. */
export class UserDirectory {
  private readonly options: { redis: Redis; pool: Pool; controlShare: () => number };

  constructor(options: { redis: Redis; pool: Pool; controlShare: () => number }) {
    this.options = options;
  }

  /**
   * Users in the order of their IDs, or those found by `search`, see `searchUsers`. Who is there follows
   * events after a moment; what is told of them is current, and who was deleted is never told.
   */
  async list(
    compiled: CompiledCatalog,
    { limit, skip, search }: { limit: number; skip: number; search?: string | undefined },
  ): Promise<User[]> {
    const { redis, pool, controlShare } = this.options;
    const { tenantNo } = compiled.catalog;
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
