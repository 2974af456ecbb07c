import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { readIdempotencyKeys } from '../../postgres/rebuild/read-idempotency-keys.ts';
import { missingUsers } from '../../postgres/rebuild/missing-users.ts';
import { estimateRows, readUsers, type StoredUser } from '../../postgres/rebuild/read-users.ts';
import { countersKey, shardPattern, userKey } from '../../redis/keys.ts';
import { confirm, stored, type Difference, type Suspect } from './confirm.ts';
import { boardsOf, bucketOf, countersOf, Generations, placesOf, stateOf, type Boards } from './holdings.ts';
import { SHARD_NUMBERS } from './inspect.ts';
import { counterSuspect, placeSuspect, stateSuspect } from './suspects.ts';

export interface VerifyProgress {
  step: 'users' | 'idempotency keys' | 'keys';
  done: number;
  total: number | null;
}

export interface VerifyOptions {
  redis: Redis;
  pool: Pool;
  onProgress?: (progress: VerifyProgress) => void;
  onDifference: (difference: Difference) => void;
}

const PAGE = 1_000;
const USER_KEY = /^\{s\d\}:(\d+):u:([^]*)$/;
const SET_KEY = /^\{s\d\}:(\d+):[pb]:/;

/**
 * Compares all that Redis holds with Postgres, key by key (the list is in `holdings.ts`), in both directions: what is
 * missing, what is other, what should not be there. Events may go on meanwhile: what differs only because Postgres
 * follows is looked at again. Changes nothing. How many differences there are. Throws NotStored without a worker.
 */
export async function verify({ redis, pool, onProgress, onDifference }: VerifyOptions): Promise<number> {
  const servers = { redis, pool };
  await stored(servers);
  let count = 0;
  const settle = async (suspects: readonly Suspect[]): Promise<void> => {
    for (const difference of await confirm(servers, suspects)) {
      count += 1;
      onDifference(difference);
    }
  };
  const boards = new Map<number, Boards>();
  const of = async (tenantNo: number): Promise<Boards> => {
    let known = boards.get(tenantNo);
    if (known === undefined) boards.set(tenantNo, (known = await boardsOf(pool, tenantNo)));
    return known;
  };

  const generations = new Generations();
  const counters = new Map<number, Set<string>>();
  const total = await estimateRows(pool, 'users');
  let done = 0;
  for await (const page of readUsers(pool, PAGE)) {
    for (const user of page) {
      const state = stateOf(user);
      generations.note(user, state);
      let fields = counters.get(user.tenantNo);
      if (fields === undefined) counters.set(user.tenantNo, (fields = new Set(['users'])));
      for (const field of countersOf(state)) fields.add(field);
      await of(user.tenantNo);
    }
    await settle(await suspectUsers(servers, page, boards));
    done += page.length;
    onProgress?.({ step: 'users', done, total: Math.max(total, done) });
  }
  for (const [tenantNo, fields] of counters) {
    const there = (await redis.hkeys(countersKey(tenantNo))).filter((field) => /^a\d+$/.test(field));
    await settle([...new Set([...fields, ...there])].map((field) => counterSuspect(servers, tenantNo, field)));
  }

  done = 0;
  await readIdempotencyKeys(pool, PAGE, async (used) => {
    const places = used.map((key) => bucketOf(key, generations.of(key)));
    const found = await Promise.all(places.map(({ key, field }) => redis.hget(key, field)));
    for (const [index, { key, field, value }] of places.entries()) {
      if (found[index] === value) continue;
      count += 1;
      onDifference({ key, part: field, redis: found[index] ?? 'nothing', postgres: value });
    }
    done += used.length;
    onProgress?.({ step: 'idempotency keys', done, total: null });
  });

  done = 0;
  for (const shard of SHARD_NUMBERS) {
    let cursor = '0';
    do {
      const [next, keys] = await redis.scan(cursor, 'MATCH', shardPattern(shard), 'COUNT', PAGE);
      for (const key of keys) await settle(await superfluous(servers, key, of));
      await settle(await superfluousUsers(servers, keys));
      done += keys.length;
      onProgress?.({ step: 'keys', done, total: null });
      cursor = next;
    } while (cursor !== '0');
  }
  return count;
}

/** What of some users is not in Redis as it should be. */
async function suspectUsers(
  servers: { redis: Redis; pool: Pool },
  users: readonly StoredUser[],
  boards: ReadonlyMap<number, Boards>,
): Promise<Suspect[]> {
  const expected = users.map((user) => placesOf(user.tenantNo, stateOf(user), boards.get(user.tenantNo)!));
  const pipeline = servers.redis.pipeline();
  for (const [index, { tenantNo, id }] of users.entries()) {
    pipeline.getBuffer(userKey(tenantNo, id));
    for (const { key } of expected[index]!) pipeline.zscore(key, id);
  }
  const replies = ((await pipeline.exec()) ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
  const suspects: Suspect[] = [];
  let at = 0;
  for (const [index, { tenantNo, id, state }] of users.entries()) {
    if ((replies[at++] as Buffer | null)?.equals(state) !== true) suspects.push(stateSuspect(servers, tenantNo, id));
    for (const { key, score } of expected[index]!) {
      const there = replies[at++] as string | null;
      if (there !== null && Number(there) === Number(score)) continue;
      suspects.push(placeSuspect(servers, { tenantNo, id, key, boards: boards.get(tenantNo)! }));
    }
  }
  return suspects;
}

/** The members of a sorted set whose stored state does not say that they belong there. */
async function superfluous(
  servers: { redis: Redis; pool: Pool },
  key: string,
  boardsOfTenant: (tenantNo: number) => Promise<Boards>,
): Promise<Suspect[]> {
  const match = SET_KEY.exec(key);
  if (match === null) return [];
  const tenantNo = Number(match[1]);
  const boards = await boardsOfTenant(tenantNo);
  const suspects: Suspect[] = [];
  let cursor = '0';
  do {
    const [next, flat] = await servers.redis.zscan(key, cursor, 'COUNT', PAGE);
    const ids = flat.filter((_, index) => index % 2 === 0);
    const states = ids.length === 0 ? [] : await servers.redis.mgetBuffer(ids.map((id) => userKey(tenantNo, id)));
    for (const [index, id] of ids.entries()) {
      const packed = states[index] ?? null;
      const user = packed === null ? null : { tenantNo, id, state: packed };
      if (user !== null && placesOf(tenantNo, stateOf(user), boards).some((place) => place.key === key)) continue;
      suspects.push(placeSuspect(servers, { tenantNo, id, key, boards }));
    }
    cursor = next;
  } while (cursor !== '0');
  return suspects;
}

/** Users who are in Redis and not in Postgres. */
async function superfluousUsers(servers: { redis: Redis; pool: Pool }, keys: readonly string[]): Promise<Suspect[]> {
  const users = keys.flatMap((key) => {
    const match = USER_KEY.exec(key);
    return match === null ? [] : [{ tenantNo: Number(match[1]), id: match[2]! }];
  });
  return (await missingUsers(servers.pool, users)).map(({ tenantNo, id }) => stateSuspect(servers, tenantNo, id));
}
