import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { keptLetters, noteSplit, readSplits, type Split } from '../../postgres/rebuild/splits.ts';
import { transaction } from '../../postgres/transaction.ts';
import { forgetEntry, keepEntry, keptEntry } from '../../redis/kept-entries.ts';
import { moveMisplacedBatches } from '../../redis/move-batches.ts';

/**
 * What of some shards is to be split still, with all that are split from the same old ones: those can only be rebuilt together,
 * since what the old ones held is all of theirs.
 */
export async function splitsOf(pool: Pool, shards: readonly number[]): Promise<Split[]> {
  const splits = await readSplits(pool);
  const asked = new Set(shards);
  const from = new Set(
    splits.filter((split) => asked.has(split.shard) || asked.has(split.from)).map(({ from }) => from),
  );
  return splits.filter((split) => from.has(split.from));
}

/** Some shards, and those that are concerned by what is to be split. */
export const withSplit = (shards: readonly number[], splits: readonly Split[]): number[] =>
  [...new Set([...shards, ...splits.flatMap(({ shard, from }) => [from, shard])])].toSorted((a, b) => a - b);

/**
 * The shards of an installation of 8 became 256. Has the new ones what only Redis holds of their tenants: batches that wait, with how far they are
 * processed, and entries that were set aside and that Postgres does not take. Everything else the rebuild that this is a part
 * of loads from Postgres. To be called when the outboxes of the old shards are stored and all shards concerned are without
 * their marks. A crash in between repeats it and changes nothing.
 */
export async function splitShards(
  { redis, pool }: { redis: Redis; pool: Pool },
  splits: readonly Split[],
): Promise<void> {
  if (splits.length === 0) return;
  const from = [...new Set(splits.map((split) => split.from))];
  for (const shard of from) await moveMisplacedBatches(redis, shard);
  const letters = await keptLetters(pool, from);
  for (const letter of letters) {
    const packed = await keptEntry(redis, letter.from, letter.position);
    if (packed !== null) await keepEntry(redis, letter.to, letter.position, packed);
  }
  const shards = splits.map(({ shard }) => shard);
  await transaction(pool, (client) => noteSplit(client, shards));
  for (const letter of letters) await forgetEntry(redis, letter.from, letter.position);
}
