import type { Pool } from 'pg';
import { acceptedShards, inspect } from '../../engine/availability/inspection.ts';
import { readPlacement } from '../../postgres/shards/placement.ts';
import { redisReady } from '../../redis/client.ts';
import { endpointsOf, type Endpoint } from '../../redis/endpoints.ts';
import { SHARDS } from '../../redis/keys.ts';
import { usedShards } from '../../postgres/shards/used-shards.ts';
import { withServers } from '../servers.ts';
import { serverLines } from './server-lines.ts';

/** Prints each Redis with its shards: see `serverLines`. Changes nothing. */
export const runShardList = (): Promise<void> =>
  withServers(
    async ({ redis, pool }) => {
      const placed = new Map((await readPlacement(pool)).map((each) => [each.shard, each]));
      const used = new Set(await usedShards(pool));
      for (const endpoint of endpointsOf(redis)) {
        const whole = await wholeOf(endpoint, pool);
        process.stdout.write(serverLines({ ...endpoint, whole }, { placed, used }));
      }
      process.stdout.write(`A tenant is on the shard that its number leaves when it is divided by ${SHARDS}.\n`);
    },
    { shards: [] },
  );

/** Those of its shards that are open; null: it does not answer. */
async function wholeOf({ redis, shards }: Endpoint, pool: Pool): Promise<ReadonlyMap<number, unknown> | null> {
  try {
    await redisReady(redis);
    return acceptedShards(await inspect(redis, pool, shards));
  } catch {
    return null;
  }
}
