import type { Pool } from 'pg';
import { acceptedShards, inspect } from '../../engine/rebuild/inspect.ts';
import { readPlacement, type PlacedShard } from '../../postgres/shards/placement.ts';
import { redisReady } from '../../redis/client.ts';
import { endpointsOf, type Endpoint } from '../../redis/endpoints.ts';
import { SHARDS } from '../../redis/keys.ts';
import { usedShards } from '../../postgres/shards/used-shards.ts';
import { withServers } from '../servers.ts';
import { numberRanges } from './number-ranges.ts';

/**
 * Prints each Redis with its shards, and which of them hold tenants; below it those that are shut, and of those that are moved, or
 * were, what is not done yet. Changes nothing.
 */
export const runShardList = (): Promise<void> =>
  withServers(
    async ({ redis, pool }) => {
      const placed = new Map((await readPlacement(pool)).map((each) => [each.shard, each]));
      const used = new Set(await usedShards(pool));
      for (const endpoint of endpointsOf(redis)) {
        const whole = await wholeOf(endpoint, pool);
        const away = whole === null ? ' (does not answer)' : '';
        const tenants = numberRanges(endpoint.shards.filter((shard) => used.has(shard)));
        process.stdout.write(
          `${endpoint.name}${away}: ${numberRanges(endpoint.shards) || 'no shard'}; with tenants: ${tenants || 'none'}\n`,
        );
        for (const shard of endpoint.shards) {
          const remarks = remarksOn(placed.get(shard), whole?.has(shard));
          if (remarks !== '') process.stdout.write(`  ${shard}: ${remarks}\n`);
        }
      }
      process.stdout.write(`A tenant is on the shard that its number leaves when it is divided by ${SHARDS}.\n`);
    },
    { all: false },
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

function remarksOn(placed: PlacedShard | undefined, isWhole: boolean | undefined): string {
  const { movingTo = null, leftOn = null } = placed ?? {};
  const remarks = [
    ...(isWhole === false ? ['shut'] : []),
    ...(movingTo === null ? [] : [`being moved to ${movingTo}`]),
    ...(leftOn === null ? [] : [`keys are left on ${leftOn}`]),
  ];
  return remarks.join(', ');
}
