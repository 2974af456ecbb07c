import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { User } from '../../domain/user.ts';
import { AppError } from '../../errors.ts';
import { listUsers, placeInSearch, searchUsers, type UserOrder } from '../../postgres/users/user-search.ts';
import { userKey } from '../../redis/keys.ts';
import { decodeState } from '../../packed/state.ts';
import type { CaughtUp } from '../persist/caught-up-reads.ts';
import { userResponse } from '../responses.ts';

export interface UserDirectoryOptions {
  redis: Redis;
  pool: Pool;
  caughtUp: Pick<CaughtUp, 'tenant'>;
  controlShare: () => number;
}

export interface UserPage {
  limit: number;
  skip: number;
  /** The ID of the last user of the previous page. */
  after?: string | undefined;
  order?: UserOrder | undefined;
  search?: string | undefined;
}

/** Returns the next IDs, up to a number; fewer if these are the last. */
type NextIds = (count: number) => Promise<string[]>;

const NOT_FOUND = 'after: this user is not, or no longer, among the results; begin again without it';

/** Lists and searches a tenant's users. */
export class UserDirectory {
  private readonly options: UserDirectoryOptions;

  constructor(options: UserDirectoryOptions) {
    this.options = options;
  }

  /**
   * Users in the order of their IDs, or those found by `search` (see `searchUsers`): `limit` of them, fewer only on the
   * last page. Includes all users whose events were answered before, unless Postgres is so far behind that `caughtUp`
   * stops waiting. Their fields are current, and deleted users are never listed. Throws 422 for an `after` that a
   * search does not find.
   */
  async list(compiled: CompiledCatalog, page: UserPage): Promise<User[]> {
    const { tenantNo } = compiled.catalog;
    await this.options.caughtUp.tenant(tenantNo);
    const next = page.search ? await this.found(tenantNo, page, page.search) : this.all(tenantNo, page);
    const users: User[] = [];
    while (users.length < page.limit) {
      const asked = page.limit - users.length;
      const ids = await next(asked);
      users.push(...(await this.present(compiled, ids)));
      if (ids.length < asked) break;
    }
    return users;
  }

  private all(tenantNo: number, { order = 'asc', after, skip }: UserPage): NextIds {
    let last = after ?? null;
    let over = skip;
    return async (limit) => {
      const ids = await listUsers(this.options.pool, { tenantNo, order, after: last, limit, skip: over });
      last = ids.at(-1) ?? last;
      over = 0;
      return ids;
    };
  }

  private async found(tenantNo: number, { after, skip }: UserPage, search: string): Promise<NextIds> {
    const { pool } = this.options;
    let last = after === undefined ? null : await placeInSearch(pool, { tenantNo, search, id: after });
    if (after !== undefined && last === null) throw new AppError('unprocessable', NOT_FOUND);
    let over = skip;
    return async (limit) => {
      const found = await searchUsers(pool, { tenantNo, search, after: last, limit: over + limit });
      const ids = found.slice(over).map(({ id }) => id);
      last = found.at(-1) ?? last;
      over = 0;
      return ids;
    };
  }

  /** Excludes deleted users who are still in Postgres. */
  private async present(compiled: CompiledCatalog, ids: readonly string[]): Promise<User[]> {
    if (ids.length === 0) return [];
    const { redis, controlShare } = this.options;
    const states = await redis.mgetBuffer(ids.map((id) => userKey(compiled.catalog.tenantNo, id)));
    return ids.flatMap((userId, index) => {
      const packed = states[index];
      if (!packed) return [];
      return [userResponse(compiled, { userId, state: decodeState(packed), controlShare: controlShare() })];
    });
  }
}
