import type { Pool } from 'pg';
import { readUsers, type StoredUser } from '../../postgres/rebuild/read-users.ts';
import { countersKey, shardOf, userKey } from '../../redis/keys.ts';
import { Counts } from './counts.ts';
import {
  BoardsOfTenants,
  countersOf,
  placesOf,
  readState,
  totalsOf,
  type Boards,
  type Generations,
} from './derived-keys.ts';
import { flushed, type Loader, type Loaders } from './loader.ts';
import type { OnUnreadable } from './unreadable.ts';
import { COUNTER } from '../../packed/call-fields.ts';

const USERS_A_PAGE = 2_000;

interface Tenant {
  no: number;
  boards: Boards;
  generations: Generations;
  counts: Counts;
}

/** Loads all users of the tenants of some shards, the sorted sets that they are members of, and what counts them. */
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
  const counts = new Counts(loaders);
  let loaded = 0;
  for await (const page of readUsers(pool, { pageSize: USERS_A_PAGE, tenants: wanted })) {
    for (const { tenantNo, users } of byTenant(page)) {
      let tenant = tenants.get(tenantNo);
      if (tenant === undefined) {
        tenant = { no: tenantNo, generations, boards: await boards.of(tenantNo), counts };
        tenants.set(tenantNo, tenant);
      }
      await loadPage(loaders.get(shardOf(tenantNo))!, { tenant, users, onUnreadable });
    }
    await counts.relieve();
    loaded += page.length;
    await onLoaded(loaded);
  }
  await counts.load();
  for (const tenantNo of tenants.keys()) {
    const youngest = generations.youngestOf(tenantNo);
    if (youngest === undefined) continue;
    await loaders.get(shardOf(tenantNo))!.add(['HSET', countersKey(tenantNo), COUNTER.generation, String(youngest)]);
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
    counts.add(countersKey(tenantNo), countersOf(state));
    for (const [key, fields] of totalsOf(tenantNo, state)) counts.add(key, fields);
  }
  await loader.addPairs(['MSET'], states);
  for (const [key, members] of sets) await loader.addPairs(['ZADD', key], members);
  for (const [key, listed] of groups) await loader.addPairs(['SADD', key], [...listed]);
}
