import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { readAgeing } from '../../postgres/idempotency/ageing-progress.ts';
import { readIdempotencyKeys } from '../../postgres/rebuild/read-idempotency-keys.ts';
import { waitingKeys } from '../idempotency/waiting-keys.ts';
import { USED } from '../../redis/idempotency.ts';
import { oldKeysKey, shardOf } from '../../redis/keys.ts';
import { loadOldKeys, type BucketKeys } from '../../redis/old-keys.ts';
import { bucketOf, type Generations } from './derived-keys.ts';
import { flushed, type Loaders } from './loader.ts';

const KEYS_A_PAGE = 5_000;
/** Old keys that are collected before they are loaded: those of a bucket go to one segment, which is written once then. */
const OLD_AT_ONCE = 200_000;

/**
 * Loads all used idempotency keys of some shards: those of events before a time in the compact form, and those of events that wait in
 * dead letters.
 */
export async function loadIdempotencyKeys({
  pool,
  redis,
  tenants,
  loaders,
  generations,
  onLoaded,
}: {
  pool: Pool;
  redis: Redis;
  /** Those of the shards that are loaded; null: all. */
  tenants: readonly number[] | null;
  loaders: Loaders;
  generations: Generations;
  onLoaded: (keys: number) => Promise<void>;
}): Promise<void> {
  const { beforeMs } = await readAgeing(pool);
  let loaded = 0;
  let old = new Map<string, BucketKeys>();
  let waiting = 0;
  const loadOld = async (): Promise<void> => {
    await loadOldKeys(redis, [...old.values()], (shard) => loaders.get(shard)!.belief);
    old = new Map();
    waiting = 0;
  };
  await readIdempotencyKeys(pool, { pageSize: KEYS_A_PAGE, tenants }, async (keys) => {
    for (const used of keys) {
      const { tenantNo, key, field, value } = bucketOf(used, generations.of(used));
      if (Number(value) >= beforeMs) {
        await loaders.get(shardOf(tenantNo))!.add([USED.note, oldKeysKey(tenantNo), key, field, value]);
        continue;
      }
      const together = old.get(key);
      if (together === undefined) old.set(key, { tenantNo, bucket: key, fields: [field] });
      else together.fields.push(field);
      waiting += 1;
    }
    if (waiting >= OLD_AT_ONCE) await loadOld();
    loaded += keys.length;
    await onLoaded(loaded);
  });
  await loadOld();
  // However old they are: the compact form is for keys whose events are in Postgres, where they are looked up.
  for await (const used of waitingKeys({ redis, pool }, (shard) => loaders.has(shard))) {
    const { tenantNo, key, field, value } = bucketOf(used, generations.of(used));
    await loaders.get(shardOf(tenantNo))!.add([USED.note, oldKeysKey(tenantNo), key, field, value]);
  }
  await flushed(loaders);
}
