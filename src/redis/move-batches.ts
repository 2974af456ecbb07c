import type { Redis } from 'ioredis';
import { QUEUED_BATCH } from '../packed/call-fields.ts';
import { batchesKey, batchProgressKey, batchResultsKey, shardOf } from './keys.ts';
import { Script } from './script.ts';

/** Batches looked at in one read: each has up to 1 MB. */
const BATCHES = 4;

const move = new Script('move_batch');

/**
 * Moves the batches in a shard's queue whose tenants are on other shards to the ends of those, in their order, each with how far it is
 * processed. `redis`: the server that holds all of these shards. One atomic call a batch: a crash leaves the rest to the next
 * call. How many were moved. Errors of Redis.
 */
export async function moveMisplacedBatches(redis: Redis, shard: number): Promise<number> {
  let moved = 0;
  for (let after = '-'; ;) {
    const entries = await redis.xrangeBuffer(batchesKey(shard), after, '+', 'COUNT', BATCHES);
    for (const [idBytes, fields] of entries) {
      const id = idBytes.toString('latin1');
      const to = shardOf(tenantOf(fields));
      after = `(${id}`;
      if (to !== shard) moved += Number(await move.runUnguarded(redis, [...of(shard, id), ...of(to, id)], [id]));
    }
    if (entries.length === 0) return moved;
  }
}

const of = (shard: number, id: string): string[] => [
  batchesKey(shard),
  batchProgressKey(shard),
  batchResultsKey(shard, id),
];

/** By name: the order of a batch's fields is that of the version that accepted it. */
function tenantOf(fields: readonly Buffer[]): number {
  const at = fields.findIndex((name, index) => index % 2 === 0 && name.toString('latin1') === QUEUED_BATCH.tenant);
  return Number(fields[at + 1]?.toString('latin1'));
}
