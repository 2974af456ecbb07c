import type { Pool } from 'pg';
import { readIdempotencyKeys } from '../../postgres/rebuild/read-idempotency-keys.ts';
import { shardOf } from '../../redis/keys.ts';
import { bucketOf, type Generations } from './holdings.ts';
import type { Loader } from './loader.ts';

const KEYS_A_PAGE = 5_000;

/** Loads all used idempotency keys. */
export async function loadIdempotencyKeys({
  pool,
  loaders,
  generations,
  onLoaded,
}: {
  pool: Pool;
  loaders: readonly Loader[];
  generations: Generations;
  onLoaded: (keys: number) => Promise<void>;
}): Promise<void> {
  let loaded = 0;
  await readIdempotencyKeys(pool, KEYS_A_PAGE, async (keys) => {
    for (const used of keys) {
      const { key, field, value } = bucketOf(used, generations.of(used));
      await loaders[shardOf(used.tenantNo)]!.add(['HSET', key, field, value]);
    }
    loaded += keys.length;
    await onLoaded(loaded);
  });
  await Promise.all(loaders.map((loader) => loader.flush()));
}
