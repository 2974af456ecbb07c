import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { usedKeysAt } from '../../postgres/rebuild/used-keys-at.ts';
import { countCompletions, countUsers } from '../../postgres/rebuild/tenant-counts.ts';
import { storedState } from '../../postgres/users/stored-state.ts';
import { hotUse } from '../../redis/idempotency.ts';
import { countersKey, userKey } from '../../redis/keys.ts';
import { waitingKeys } from '../idempotency/waiting-keys.ts';
import type { Suspect } from './confirm.ts';
import { bucketOf, placesOf, stateOf, useText, type BoardsOfTenants, type Place } from './derived-keys.ts';
import { COUNTER } from '../../packed/call-fields.ts';

/** What both sides are read from. */
export interface Sides {
  redis: Redis;
  pool: Pool;
  /** Those that are compared. */
  shards: readonly number[];
  boards: BoardsOfTenants;
}

/** A user's state. */
export const stateSuspect = ({ redis, pool }: Sides, tenantNo: number, id: string): Suspect => ({
  key: userKey(tenantNo, id),
  part: '',
  redis: async () => (await redis.getBuffer(userKey(tenantNo, id)))?.toString('hex') ?? null,
  postgres: async () => (await storedState(pool, { tenantNo, userId: id }))?.toString('hex') ?? null,
});

async function storedPlaces({ pool, boards }: Sides, tenantNo: number, id: string): Promise<Place[]> {
  const packed = await storedState(pool, { tenantNo, userId: id });
  return packed === null ? [] : placesOf(tenantNo, stateOf({ state: packed }), await boards.of(tenantNo));
}

/** A user's place in a sorted set. */
export const placeSuspect = (
  sides: Sides,
  { tenantNo, id, key }: { tenantNo: number; id: string; key: string },
): Suspect => ({
  key,
  part: id,
  redis: async () => scoreText(await sides.redis.zscore(key, id)),
  postgres: async () =>
    scoreText((await storedPlaces(sides, tenantNo, id)).find((place) => place.key === key)?.score ?? null),
});

/** Equal scores have equal texts. */
const scoreText = (score: string | number | null): string | null => (score === null ? null : String(Number(score)));

const LISTED = 'listed';

/** A group in the set of a run's groups, in which a user has a place. */
export function groupSuspect(
  sides: Sides,
  { tenantNo, id, key, group }: { tenantNo: number; id: string; key: string; group: string },
): Suspect {
  const redis = async (): Promise<string | null> => ((await sides.redis.sismember(key, group)) === 1 ? LISTED : null);
  return {
    key,
    part: group,
    redis,
    postgres: async () => {
      const places = await storedPlaces(sides, tenantNo, id);
      // One that nobody is in any more may be listed or not.
      return places.some(({ listedIn }) => listedIn?.key === key && listedIn.group === group) ? LISTED : redis();
    },
  };
}

/** The set of the groups of a run. */
export const groupsSuspect = (
  { redis, boards }: Sides,
  { tenantNo, key, boardNo, runDay }: { tenantNo: number; key: string; boardNo: number; runDay: number },
): Suspect => ({
  key,
  part: '',
  redis: async () => ((await redis.exists(key)) === 1 ? LISTED : null),
  postgres: async () => {
    const board = (await boards.of(tenantNo)).get(boardNo);
    return board?.grouped === true && !board.cleared.has(runDay) ? LISTED : null;
  },
});

/** A field of a tenant's counters: `users`, or `a<achievement>`. */
export const counterSuspect = ({ redis, pool }: Sides, tenantNo: number, field: string): Suspect => ({
  key: countersKey(tenantNo),
  part: field,
  redis: async () => (await redis.hget(countersKey(tenantNo), field)) ?? '0',
  postgres: async () =>
    String(
      field === COUNTER.users
        ? await countUsers(pool, tenantNo)
        : await countCompletions(pool, tenantNo, Number(field.slice(1))),
    ),
});

/** A field of a bucket of used idempotency keys. */
export const usedKeySuspect = (
  sides: Pick<Sides, 'redis' | 'pool' | 'shards'>,
  { key, field, value }: { key: string; field: string; value: string },
): Suspect => ({
  key,
  part: field,
  redis: () => hotUse(sides.redis, key, field),
  postgres: async () => {
    const use = useText({ key, field, value });
    return (await storedUses(sides.pool, [value])).has(use) || (await waitingUses(sides)).has(use) ? value : null;
  },
});

/** The uses of keys that events with the times of some uses in their IDs stand for: `useText` of each. */
export async function storedUses(pool: Pool, values: readonly string[]): Promise<Set<string>> {
  const times = new Set(values.map(Number));
  return new Set((await usedKeysAt(pool, [...times])).map((used) => useText(bucketOf(used, undefined))));
}

/** The uses of keys that events in dead letters stand for: `useText` of each. */
export async function waitingUses({
  redis,
  pool,
  shards,
}: Pick<Sides, 'redis' | 'pool' | 'shards'>): Promise<Set<string>> {
  const uses = new Set<string>();
  for await (const used of waitingKeys({ redis, pool }, (shard) => shards.includes(shard)))
    uses.add(useText(bucketOf(used, undefined)));
  return uses;
}
