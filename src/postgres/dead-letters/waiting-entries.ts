import type { Pool } from 'pg';
import type { WholeDeadLetter } from './letters.ts';

export type WaitingEntry = Pick<WholeDeadLetter, 'id' | 'shard' | 'position' | 'parts' | 'entry' | 'inRedis'>;

/** A page of the waiting dead letters, ordered by ID. `after`: the last ID of the previous page. */
export async function waitingEntries(
  pool: Pool,
  { after, limit }: { after: string | null; limit: number },
): Promise<WaitingEntry[]> {
  const { rows } = await pool.query<WaitingEntry>(
    `SELECT id, shard, position, parts, entry, in_redis AS "inRedis" FROM dead_letters
      WHERE status = 'waiting' AND ($1::uuid IS NULL OR id > $1) ORDER BY id LIMIT $2`,
    [after, limit],
  );
  return rows;
}
