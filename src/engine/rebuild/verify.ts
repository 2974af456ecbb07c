import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { readIdempotencyKeys } from '../../postgres/rebuild/read-idempotency-keys.ts';
import { estimateRows, readUsers } from '../../postgres/rebuild/read-users.ts';
import { ALL_SHARDS_PATTERN, countersKey, tenantKey } from '../../redis/keys.ts';
import { oldKeysHeld } from '../../redis/old-keys.ts';
import { behindPostgres } from './behind-postgres.ts';
import { confirm, stored, type Difference, type Suspect } from './confirm.ts';
import { BoardsOfTenants, bucketOf, countersOf, Generations, stateOf } from './holdings.ts';
import { SetMembers } from './set-members.ts';
import { superfluous } from './superfluous.ts';
import { suspectUsers } from './suspect-users.ts';
import { counterSuspect, type Sides } from './suspects.ts';

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
/** `users`, or the completions of an achievement; the generation of new users is compared otherwise. */
const COUNTS = /^(users|a\d+)$/;

/**
 * Compares all that Redis holds with Postgres, key by key (the list is in `holdings.ts`), in both directions: what is
 * missing, what is other, what should not be there. Of a run's groups only those with somebody in them must be listed.
 * Events may go on meanwhile: what differs only because Postgres follows is looked at again. Not compared: what only
 * Redis holds. Changes nothing. How many differences there are. Throws NotStored without a worker.
 */
export async function verify({ redis, pool, onProgress, onDifference }: VerifyOptions): Promise<number> {
  const boards = new BoardsOfTenants(pool);
  const sides: Sides = { redis, pool, boards };
  let count = 0;
  const told = new Set<string>();
  const tell = (difference: Difference): void => {
    const name = `${difference.key}\0${difference.part}`;
    // A group that is not listed is missed by all who are in it.
    if (told.has(name)) return;
    told.add(name);
    count += 1;
    onDifference(difference);
  };
  const settle = async (suspects: readonly Suspect[]): Promise<void> => {
    for (const difference of await confirm(sides, suspects)) tell(difference);
  };
  for (const difference of await behindPostgres(sides)) tell(difference);
  await stored(sides);

  const generations = new Generations();
  const members = new SetMembers();
  const counted = new Map<number, Set<string>>();
  const total = await estimateRows(pool, 'users');
  let done = 0;
  for await (const page of readUsers(pool, PAGE)) {
    for (const user of page) {
      const state = stateOf(user);
      generations.note(user, state);
      let fields = counted.get(user.tenantNo);
      if (fields === undefined) counted.set(user.tenantNo, (fields = new Set(['users'])));
      for (const field of countersOf(state)) fields.add(field);
    }
    await settle(await suspectUsers(sides, page, members));
    done += page.length;
    onProgress?.({ step: 'users', done, total: Math.max(total, done) });
  }

  done = 0;
  await readIdempotencyKeys(pool, PAGE, async (used) => {
    const places = used.map((key) => bucketOf(key, generations.of(key)));
    const found = await Promise.all(places.map(({ key, field }) => redis.hget(key, field)));
    const others = places.flatMap((place, index) => (found[index] === place.value ? [] : [{ ...place, index }]));
    // What is not hot may be old; and a key may become so in between, so this is asked second.
    const held = await oldKeysHeld(
      redis,
      others.map(({ tenantNo, key, field }) => ({ tenantNo, bucket: key, field })),
    );
    for (const [at, { key, field, value, index }] of others.entries()) {
      if (held[at] === true && found[index] === null) continue;
      tell({ key, part: field, redis: found[index] ?? 'nothing', postgres: value });
    }
    done += used.length;
    onProgress?.({ step: 'idempotency keys', done, total: null });
  });

  done = 0;
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', ALL_SHARDS_PATTERN, 'COUNT', PAGE);
    await settle(await superfluous(sides, keys, members));
    for (const key of keys) {
      const of = tenantKey(key);
      if (of?.kind === 'n' && !counted.has(of.tenantNo)) counted.set(of.tenantNo, new Set());
    }
    done += keys.length;
    onProgress?.({ step: 'keys', done, total: null });
    cursor = next;
  } while (cursor !== '0');

  for (const [tenantNo, fields] of counted) {
    const there = await redis.hgetall(countersKey(tenantNo));
    const names = [...fields, ...Object.keys(there)].filter((field) => COUNTS.test(field));
    await settle([...new Set(names)].map((field) => counterSuspect(sides, tenantNo, field)));
    // It may be further: who was deleted last need not have come back.
    const youngest = generations.youngestOf(tenantNo) ?? 0;
    if (Number(there['d'] ?? 0) < youngest) {
      tell({ key: countersKey(tenantNo), part: 'd', redis: there['d'] ?? 'nothing', postgres: String(youngest) });
    }
  }
  return count;
}
