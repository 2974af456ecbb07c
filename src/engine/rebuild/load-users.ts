import type { Pool } from 'pg';
import { readUsers, type StoredUser } from '../../postgres/rebuild/read-users.ts';
import { countersKey, shardOf, userKey } from '../../redis/keys.ts';
import { BoardsOfTenants, countersOf, placesOf, readState, type Boards, type Generations } from './derived-keys.ts';
import { flushed, type Loader, type Loaders } from './loader.ts';
import type { OnUnreadable } from './unreadable.ts';
import { COUNTER } from '../../packed/call-fields.ts';

const USERS_A_PAGE = 2_000;

interface Tenant {
  no: number;
  boards: Boards;
  generations: Generations;
  /** Field of the counters → count. */
  counts: Map<string, number>;
}

/** Loads all users of the tenants of some shards, the sorted sets that they are members of, and the counters. */
export async function loadUsers({
  pool,
  tenants: wanted,
  loaders,
  generations,
  onUnreadable,
  onLoaded,
}: {
  pool: Pool;
  /** Those of the shards that are loaded; null: all. */
  tenants: readonly number[] | null;
  loaders: Loaders;
  /** Gets the users' generations. */
  generations: Generations;
  onUnreadable: OnUnreadable;
  onLoaded: (users: number) => Promise<void>;
}): Promise<void> {
  const tenants = new Map<number, Tenant>();
  const boards = new BoardsOfTenants(pool);
  let loaded = 0;
  for await (const page of readUsers(pool, { pageSize: USERS_A_PAGE, tenants: wanted })) {
    for (const { tenantNo, users } of byTenant(page)) {
      let tenant = tenants.get(tenantNo);
      if (tenant === undefined) {
        tenant = { no: tenantNo, generations, boards: await boards.of(tenantNo), counts: new Map() };
        tenants.set(tenantNo, tenant);
      }
      await loadPage(loaders.get(shardOf(tenantNo))!, { tenant, users, onUnreadable });
    }
    loaded += page.length;
    await onLoaded(loaded);
  }
  for (const { no: tenantNo, counts } of tenants.values()) {
    const youngest = generations.youngestOf(tenantNo);
    if (youngest !== undefined) counts.set(COUNTER.generation, youngest);
    const pairs = [...counts].flatMap(([field, count]) => [field, String(count)]);
    await loaders.get(shardOf(tenantNo))!.addPairs(['HSET', countersKey(tenantNo)], pairs);
  }
  await flushed(loaders);
}

/** A page is in the order of the tenants. */
function byTenant(page: readonly StoredUser[]): { tenantNo: number; users: StoredUser[] }[] {
  const groups: { tenantNo: number; users: StoredUser[] }[] = [];
  for (const user of page) {
    const last = groups.at(-1);
    if (last?.tenantNo === user.tenantNo) last.users.push(user);
    else groups.push({ tenantNo: user.tenantNo, users: [user] });
  }
  return groups;
}

async function loadPage(
  loader: Loader,
  { tenant, users, onUnreadable }: { tenant: Tenant; users: readonly StoredUser[]; onUnreadable: OnUnreadable },
): Promise<void> {
  const { no: tenantNo, boards, counts, generations } = tenant;
  const states: (string | Buffer)[] = [];
  const sets = new Map<string, string[]>();
  const groups = new Map<string, Set<string>>();
  for (const user of users) {
    states.push(userKey(tenantNo, user.id), user.state);
    const state = readState(user);
    if (state === null) {
      onUnreadable(user);
      continue;
    }
    generations.note(user, state);
    for (const { key, score, listedIn } of placesOf(tenantNo, state, boards)) {
      const members = sets.get(key);
      if (members === undefined) sets.set(key, [score, user.id]);
      else members.push(score, user.id);
      if (listedIn !== null) groups.set(listedIn.key, (groups.get(listedIn.key) ?? new Set()).add(listedIn.group));
    }
    for (const field of countersOf(state)) counts.set(field, (counts.get(field) ?? 0) + 1);
  }
  await loader.addPairs(['MSET'], states);
  for (const [key, members] of sets) await loader.addPairs(['ZADD', key], members);
  for (const [key, listed] of groups) await loader.addPairs(['SADD', key], [...listed]);
}
