import type { Pool, PoolClient } from 'pg';
import { firstIdOf } from './event-partitions.ts';

const FIRST_ID = firstIdOf(0);

/**
 * SQL: whether an event or award of a local day (epoch day, SQL) or a later one may have an ID from before the UTC day before. Such are
 * events that were released from quarantine days later, and imported awards that count for another day than their time.
 */
export const mayBeEarlier = (day: string): string => `EXISTS (
    SELECT FROM event_partitions
     WHERE first_day < ${day} - 1 AND NOT is_gone AND ahead_to >= ${day})`;

/** Whether it is so now: for a read whose rows, which may be none, cannot say so. To be asked after it. */
export async function isEarlier(client: Pool | PoolClient, day: number): Promise<boolean> {
  const { rows } = await client.query<{ earlier: boolean }>(`SELECT ${mayBeEarlier('$1::int')} AS earlier`, [day]);
  return rows[0]!.earlier;
}

/**
 * What a read of events or awards of a local day (epoch day) and later ones answers. It is given the first ID to look at, a value of its
 * own in the statement, so that earlier partitions are not even planned for. Where some may have earlier IDs, all are read.
 * @param read.missed what the answer's own snapshot, or a later one, says of `mayBeEarlier`
 */
export async function readSinceDay<T>(
  day: number,
  read: { rows: (firstId: string) => Promise<T>; missed: (answer: T) => boolean | Promise<boolean> },
): Promise<T> {
  const firstId = firstIdOf(Math.max(0, day - 1));
  const answer = await read.rows(firstId);
  return (await read.missed(answer)) ? read.rows(FIRST_ID) : answer;
}
