import type { Pool, PoolClient } from 'pg';
import { firstIdOf } from './event-partitions.ts';

const FIRST_ID = firstIdOf(0);

/**
 * SQL: whether an event or award of a local day (epoch day, SQL) or later may have an ID from before the previous UTC day.
 * This applies to events that were released from quarantine days later, and to imported awards that count for another day
 * than their time.
 */
export const mayBeEarlier = (day: string): string => `EXISTS (
    SELECT FROM event_partitions
     WHERE first_day < ${day} - 1 AND NOT is_gone AND ahead_to >= ${day})`;

/** Evaluates `mayBeEarlier` for a read that may return no rows to include it in. Call it after that read. */
export async function isEarlier(client: Pool | PoolClient, day: number): Promise<boolean> {
  const { rows } = await client.query<{ earlier: boolean }>(`SELECT ${mayBeEarlier('$1::int')} AS earlier`, [day]);
  return rows[0]!.earlier;
}

/**
 * Reads events or awards of a local day (epoch day) and later. `read` receives the first ID to read, as a separate value in
 * the statement, so that earlier partitions are not planned for. If some may have earlier IDs, it reads all.
 * @param read.missed the value of `mayBeEarlier` in the answer's snapshot or a later one
 */
export async function readSinceDay<T>(
  day: number,
  read: { rows: (firstId: string) => Promise<T>; missed: (answer: T) => boolean | Promise<boolean> },
): Promise<T> {
  const firstId = firstIdOf(Math.max(0, day - 1));
  const answer = await read.rows(firstId);
  return (await read.missed(answer)) ? read.rows(FIRST_ID) : answer;
}
