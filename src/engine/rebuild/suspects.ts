import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { countCompletions, countUsers, readUserState } from '../../postgres/rebuild/read-user.ts';
import { countersKey, userKey } from '../../redis/keys.ts';
import { unpack, type PackedState } from '../../redis/state.ts';
import type { Suspect } from './confirm.ts';
import { placesOf, type Boards } from './holdings.ts';

interface Servers {
  redis: Redis;
  pool: Pool;
}

/** A user's state. */
export const stateSuspect = ({ redis, pool }: Servers, tenantNo: number, id: string): Suspect => ({
  key: userKey(tenantNo, id),
  part: '',
  redis: async () => (await redis.getBuffer(userKey(tenantNo, id)))?.toString('hex') ?? null,
  postgres: async () => (await readUserState(pool, tenantNo, id))?.toString('hex') ?? null,
});

/** A user's place in a sorted set. */
export const placeSuspect = (
  { redis, pool }: Servers,
  { tenantNo, id, key, boards }: { tenantNo: number; id: string; key: string; boards: Boards },
): Suspect => ({
  key,
  part: id,
  redis: async () => scoreText(await redis.zscore(key, id)),
  postgres: async () => {
    const packed = await readUserState(pool, tenantNo, id);
    if (packed === null) return null;
    const places = placesOf(tenantNo, unpack(packed) as PackedState, boards);
    return scoreText(places.find((place) => place.key === key)?.score ?? null);
  },
});

/** Equal scores have equal texts. */
const scoreText = (score: string | number | null): string | null => (score === null ? null : String(Number(score)));

/** A field of a tenant's counters: `users`, or `a<achievement>`. */
export const counterSuspect = ({ redis, pool }: Servers, tenantNo: number, field: string): Suspect => ({
  key: countersKey(tenantNo),
  part: field,
  redis: async () => (await redis.hget(countersKey(tenantNo), field)) ?? '0',
  postgres: async () =>
    String(
      field === 'users'
        ? await countUsers(pool, tenantNo)
        : await countCompletions(pool, tenantNo, Number(field.slice(1))),
    ),
});
