import type { Pool } from 'pg';
import { acceptedShards, inspect } from '../../engine/rebuild/inspect.ts';
import { readPlacement, type PlacedShard } from '../../postgres/shards/placement.ts';
import { redisReady } from '../../redis/client.ts';
import { endpointsOf, type Endpoint } from '../../redis/endpoints.ts';
import { SHARDS } from '../../redis/keys.ts';
import { withServers } from '../servers.ts';

/**
 * Prints each Redis with its shards; of those that are shut, that they are; of those that are moved, or were, what is not done yet.
 * Changes nothing.
 */
export const runShardList = (): Promise<void> =>
  withServers(
    async ({ redis, pool }) => {
      const placed = new Map((await readPlacement(pool)).map((each) => [each.shard, each]));
      for (const endpoint of endpointsOf(redis)) {
        const whole = await wholeOf(endpoint, pool);
        const listed = endpoint.shards.map((shard) => `${shard}${remark(placed.get(shard), whole?.has(shard))}`);
        const away = whole === null ? ' (does not answer)' : '';
        process.stdout.write(`${endpoint.name}${away}: ${listed.join(', ') || 'none'}\n`);
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

function remark(placed: PlacedShard | undefined, isWhole: boolean | undefined): string {
  const { movingTo = null, leftOn = null } = placed ?? {};
  const remarks = [
    ...(isWhole === false ? ['shut'] : []),
    ...(movingTo === null ? [] : [`being moved to ${movingTo}`]),
    ...(leftOn === null ? [] : [`keys are left on ${leftOn}`]),
  ];
  return remarks.length === 0 ? '' : ` (${remarks.join(', ')})`;
}
