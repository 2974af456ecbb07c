import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { AttributeFilter, User } from '../../domain/user.ts';
import { AppError } from '../../errors.ts';
import { listUsers, placeInSearch, searchUsers, type UserOrder } from '../../postgres/users/user-search.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User as UserState } from '../../rules/user.ts';
import type { CaughtUp } from '../persist/caught-up-reads.ts';
import type { Clock } from '../../clock.ts';
import { parseAttributeFilter } from '../attribute-filter.ts';
import { settledNow } from '../responses/streaks.ts';
import { userResponse } from '../responses/users.ts';
import { statesInSlices } from '../../redis/parts.ts';

export interface UserDirectoryOptions {
  redis: Redis;
  pool: Pool;
  caughtUp: Pick<CaughtUp, 'tenant'>;
  controlShare: () => number;
  clock: Clock;
}

/** What users must have, to be found; what is undefined is not asked for. */
export interface UserFilter {
  /** Pairs of attributes and values. */
  userAttributes?: AttributeFilter | undefined;
  /** `system:level`: the present level in a points system, by their keys. */
  level?: string | undefined;
  /** The shortest present streak. */
  minStreak?: number | undefined;
  /** When the user or something about them last changed, from and before; date-times. */
  seenFrom?: string | undefined;
  seenBefore?: string | undefined;
}

/** Some users that a filter finds, and where it goes on. */
export interface FilteredUsers {
  users: User[];
  /** The user after whom the next call begins; `null`: all were looked at. */
  next: string | null;
  /** How many were looked at. */
  examined: number;
}

const EXAMINED = 2_000;
/** Users whose IDs are read at once. */
const SLICE = 200;

export interface UserPage {
  limit: number;
  skip: number;
  after?: string | undefined;
  order?: UserOrder | undefined;
  search?: string | undefined;
}

/** Returns the next IDs, up to a number; fewer if these are the last. */
type NextIds = (count: number) => Promise<string[]>;

const NOT_FOUND = 'after: this user is not, or no longer, among the results; begin again without it';

export function createUserDirectory({ caughtUp, clock, pool, redis, controlShare }: UserDirectoryOptions) {
  /**
   * Users in the order of their IDs, or those found by `search` (see `searchUsers`): `limit` of them, fewer only on the
   * last page. Includes all users whose events were answered before, unless Postgres is so far behind that `caughtUp`
   * stops waiting. Their fields are current, and deleted users are never listed. Throws 422 for an `after` that a
   * search does not find.
   */
  async function list(compiled: CompiledCatalog, page: UserPage): Promise<User[]> {
    const { tenantNo } = compiled.catalog;
    await caughtUp.tenant(tenantNo);
    const next = page.search ? await matching(tenantNo, page, page.search) : all(tenantNo, page);
    const users: User[] = [];
    while (users.length < page.limit) {
      const missing = page.limit - users.length;
      const ids = await next(missing);
      users.push(...(await present(compiled, ids)));
      if (ids.length < missing) break;
    }
    return users;
  }

  /**
   * Users that meet all of a filter, in the order of their IDs, after `after`: up to `limit`. A call looks at 2,000 users at most, so it
   * may find fewer, or none, though there are more: `next` is where to go on. 422 for an unknown attribute or level.
   */
  async function filtered(
    compiled: CompiledCatalog,
    filter: UserFilter,
    limit: number,
    after?: string,
  ): Promise<FilteredUsers> {
    const { tenantNo } = compiled.catalog;
    const isWanted = predicate(compiled, filter);
    await caughtUp.tenant(tenantNo);
    const users: User[] = [];
    let [last, examined] = [after ?? null, 0];
    while (examined < EXAMINED) {
      const ids = await listUsers(pool, { tenantNo, order: 'asc', after: last, limit: SLICE, skip: 0 });
      for await (const { userId, packed } of statesInSlices(redis, tenantNo, ids)) {
        last = userId;
        examined += 1;
        if (packed === null) continue;
        const state = decodeUser(packed);
        if (!isWanted(state)) continue;
        users.push(userResponse(compiled, { userId, state, controlShare: controlShare() }));
        if (users.length === limit) return { users, next: userId, examined };
      }
      if (ids.length < SLICE) return { users, next: null, examined };
    }
    return { users, next: last, examined };
  }

  function predicate(compiled: CompiledCatalog, filter: UserFilter): (state: UserState) => boolean {
    const pairs = parseAttributeFilter(filter.userAttributes, compiled.userAttributes);
    const level = filter.level === undefined ? null : wantedLevel(compiled, filter.level);
    const fromMs = filter.seenFrom === undefined ? -Infinity : Date.parse(filter.seenFrom);
    const beforeMs = filter.seenBefore === undefined ? Infinity : Date.parse(filter.seenBefore);
    const { minStreak = 0 } = filter;
    const nowMs = clock.now();
    const { frequency } = compiled.catalog.streaks;
    return (state) =>
      state.updatedMs >= fromMs &&
      state.updatedMs < beforeMs &&
      pairs.every(({ attribute, value }) => state.attributes.get(attribute.no) === value) &&
      (level === null || compiled.levelOf(level.systemId, state.points.get(level.systemNo) ?? 0)?.id === level.id) &&
      (minStreak === 0 || settledNow(compiled, state, nowMs).streaks[frequency].length >= minStreak);
  }

  function all(tenantNo: number, { order = 'asc', after, skip }: UserPage): NextIds {
    let last = after ?? null;
    let over = skip;
    return async (limit) => {
      const ids = await listUsers(pool, { tenantNo, order, after: last, limit, skip: over });
      last = ids.at(-1) ?? last;
      over = 0;
      return ids;
    };
  }

  async function matching(tenantNo: number, { after, skip }: UserPage, search: string): Promise<NextIds> {
    let last = after === undefined ? null : await placeInSearch(pool, { tenantNo, search, id: after });
    if (after !== undefined && last === null) throw new AppError('unprocessable', NOT_FOUND);
    let over = skip;
    return async (limit) => {
      const page = await searchUsers(pool, { tenantNo, search, after: last, limit: over + limit });
      const ids = page.slice(over).map(({ id }) => id);
      last = page.at(-1) ?? last;
      over = 0;
      return ids;
    };
  }

  /** Excludes deleted users who are still in Postgres. */
  async function present(compiled: CompiledCatalog, ids: readonly string[]): Promise<User[]> {
    const users: User[] = [];
    for await (const { userId, packed } of statesInSlices(redis, compiled.catalog.tenantNo, ids))
      if (packed !== null)
        users.push(userResponse(compiled, { userId, state: decodeUser(packed), controlShare: controlShare() }));
    return users;
  }

  return { list, filtered };
}

/** The level that `system:level` names. 422 if there is none. */
function wantedLevel(compiled: CompiledCatalog, text: string): { systemId: string; systemNo: number; id: string } {
  const colon = text.indexOf(':');
  const system = compiled.catalog.pointsSystems.find(({ key }) => key === text.slice(0, colon));
  const level = compiled.catalog.levels.find(
    ({ systemId, key }) => systemId === system?.id && key === text.slice(colon + 1),
  );
  if (system === undefined || level === undefined)
    throw new AppError(
      'unprocessable',
      `level: must be the key of a points system, a colon and the key of a level; '${text}' is not.`,
    );
  return { systemId: system.id, systemNo: system.no, id: level.id };
}
