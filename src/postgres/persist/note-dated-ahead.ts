import type { PoolClient } from 'pg';
import { firstIdOf } from '../partitions/event-partitions.ts';

interface DatedRow {
  /** 32 hex digits. */
  id: string;
  /** The epoch day for which it counts. */
  localDay: number;
}

const NOTE = `
  UPDATE event_partitions AS part SET ahead_to = greatest(part.ahead_to, ahead.day)
    FROM (SELECT (SELECT first_day FROM event_partitions WHERE end_id > row.id ORDER BY end_id LIMIT 1) AS first_day, max(day) AS day
            FROM unnest($1::uuid[], $2::int[]) AS row (id, day) GROUP BY 1) AS ahead
   WHERE part.first_day = ahead.first_day`;

/**
 * Records, by partition, rows that count for a day later than the one after their ID's. Reads of that day would not look there (`readSinceDay`). Call
 * it in the transaction that stores the rows. There are almost never any; then it costs a text comparison per row.
 */
export async function noteDatedAhead(client: PoolClient, lists: readonly (readonly DatedRow[])[]): Promise<void> {
  const ahead = lists.flatMap(datedAhead);
  if (ahead.length === 0) return;
  await client.query(NOTE, [ahead.map(({ id }) => id), ahead.map(({ localDay }) => localDay)]);
}

/** Rows that count for a day later than the one after their ID's. */
function datedAhead(rows: readonly DatedRow[]): DatedRow[] {
  // Users in different zones have two local days at a time, in alternation.
  const firstIds = new Map<number, string>();
  return rows.filter(({ id, localDay }) => {
    let firstId = firstIds.get(localDay);
    if (firstId === undefined) {
      firstId = firstIdOf(Math.max(0, localDay - 1)).replaceAll('-', '');
      firstIds.set(localDay, firstId);
    }
    return id < firstId;
  });
}
