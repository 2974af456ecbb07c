import type { Pool } from 'pg';
import { numberRanges } from '../../number-ranges.ts';
import { SHARD_NUMBERS } from '../../redis/keys.ts';
import { StartError } from '../../start-error.ts';
import { transaction } from '../transaction.ts';
import { isOnlyAddress, readPlacement } from './placement.ts';

/**
 * The shards that each of some Redis servers holds, by name. Initially, shards are dealt out in turn. If all have always been on a single server and one
 * name is given, that server is meant, whatever its name: only its address changed. Throws StartError if a shard is placed on a server that is
 * not given.
 */
export function placeShards(pool: Pool, names: readonly string[]): Promise<number[][]> {
  return transaction(pool, async (client) => {
    await client.query('LOCK TABLE shards IN SHARE ROW EXCLUSIVE MODE');
    const rows = await readPlacement(client);
    const before = new Map(rows.map(({ shard, endpoint }) => [shard, endpoint]));
    const known = new Set(before.values());
    const isRenamed = names.length === 1 && isOnlyAddress(rows) && !known.has(names[0]!);
    const placed = SHARD_NUMBERS.map(
      (shard) => (isRenamed ? undefined : before.get(shard)) ?? names[shard % names.length]!,
    );
    const missing = SHARD_NUMBERS.filter((shard) => !names.includes(placed[shard]!));
    if (missing.length > 0) throw new StartError(lacking(placed, missing, names));
    await client.query(
      `INSERT INTO shards (shard, endpoint) SELECT * FROM unnest($1::int[], $2::text[])
       ON CONFLICT (shard) DO UPDATE SET endpoint = excluded.endpoint WHERE shards.endpoint <> excluded.endpoint`,
      [SHARD_NUMBERS, placed],
    );
    return names.map((name) => SHARD_NUMBERS.filter((shard) => placed[shard] === name));
  });
}

function lacking(placed: readonly string[], missing: readonly number[], names: readonly string[]): string {
  const unnamed = [...new Set(missing.map((shard) => placed[shard]!))];
  const where = unnamed.map((name) => `"${name}" (${numberRanges(missing.filter((shard) => placed[shard] === name))})`);
  return (
    `Shards are placed on the Redis ${where.join(' and ')}, which REDIS_URL does not name (it names ${quoted(names)}). ` +
    'If its address changed, write it with its name: name=redis://…'
  );
}

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');
