/** Idempotency keys that differ between Redis and Postgres. */
import { type UsedKey, usedKeysAt } from '../../postgres/used-keys.ts';
import { hotUse } from '../../redis/idempotency.ts';
import { shardOfKey } from '../../redis/keys.ts';
import { oldKeysHeld } from '../../redis/old-keys.ts';
import { waitingKeys } from '../retention/waiting-keys.ts';
import type { Sides, Suspect } from './confirmation.ts';
import { bucketOf, useText } from './derived-keys.ts';

export const usedKeySuspect = (
  sides: Pick<Sides, 'redis' | 'pool' | 'shards'>,
  { key, field, value }: { key: string; field: string; value: string },
): Suspect => ({
  key,
  part: field,
  redis: () => hotUse(sides.redis, key, field),
  postgres: async () => {
    const use = useText({ key, field, value });
    return (await storedUses(sides, [value])).has(use) || (await waitingUses(sides)).has(use) ? value : null;
  },
});

/**
 * Those of some used keys of Postgres that Redis does not hold, neither hot nor old.
 * @param generationOf the generation of a key's user
 */
export async function missingUses(
  sides: Sides,
  used: readonly UsedKey[],
  generationOf: (key: UsedKey) => number | undefined,
): Promise<Suspect[]> {
  const { redis } = sides;
  const places = used
    .map((key) => bucketOf(redis, key, generationOf(key)))
    .filter(({ key }) => sides.shards.includes(shardOfKey(key)));
  const uses = await Promise.all(places.map(({ key, field }) => hotUse(redis, key, field)));
  const others = places.flatMap((place, index) => (uses[index] === place.value ? [] : [{ place, hot: uses[index] }]));
  // A key that is not hot may be old. It may become old in between, so this is read second.
  const oldUses = await oldKeysHeld(
    redis,
    others.map(({ place }) => fieldOf(place)),
  );
  return others
    .filter(({ hot }, at) => hot !== null || oldUses[at] !== true)
    .map(({ place }) => missingUseSuspect(sides, place));
}

type UsePlace = ReturnType<typeof bucketOf>;
const fieldOf = ({ tenantNo, key, field }: UsePlace): { tenantNo: number; bucket: string; field: string } => ({
  tenantNo,
  bucket: key,
  field,
});

/** A used key of Postgres that Redis seems to lack. */
function missingUseSuspect(sides: Sides, place: UsePlace): Suspect {
  const { key, field, value } = place;
  return {
    ...usedKeySuspect(sides, place),
    redis: async () => {
      const hot = await hotUse(sides.redis, key, field);
      return hot === null && (await oldKeysHeld(sides.redis, [fieldOf(place)]))[0] === true ? value : hot;
    },
  };
}

/** The used keys (`useText`) of stored events whose IDs have the times of some uses. */
export async function storedUses(
  { redis, pool }: Pick<Sides, 'redis' | 'pool'>,
  values: readonly string[],
): Promise<Set<string>> {
  const times = new Set(values.map(Number));
  return new Set((await usedKeysAt(pool, [...times])).map((used) => useText(bucketOf(redis, used, undefined))));
}

/** The used keys (`useText`) of events in dead letters. */
export async function waitingUses(sides: Pick<Sides, 'redis' | 'pool' | 'shards'>): Promise<Set<string>> {
  const { redis, pool, shards } = sides;
  const uses = new Set<string>();
  for await (const used of waitingKeys({ redis, pool }, (shard) => shards.includes(shard)))
    uses.add(useText(bucketOf(redis, used, undefined)));
  return uses;
}
