import type { PoolClient } from 'pg';
import { firstIdOf } from '../partitions/event-partitions.ts';

/** An event or an award. */
interface DatedRow {
  /** 32 hex digits. */
  id: string;
  /** Epoch day for which it counts. */
  localDay: number;
}

const NOTE = `
  UPDATE event_partitions AS part SET ahead_to = greatest(part.ahead_to, ahead.day)
    FROM (SELECT (SELECT first_day FROM event_partitions WHERE end_id > row.id ORDER BY end_id LIMIT 1) AS first_day, max(day) AS day
            FROM unnest($1::uuid[], $2::int[]) AS row (id, day) GROUP BY 1) AS ahead
   WHERE part.first_day = ahead.first_day`;

/**
 * Notes by partition which of the rows count for a day later than the one after their ID's: reads of that day would not look
 * there (`readSinceDay`). To be called in the transaction that stores them. Without any, which is nearly always, it
 * costs a comparison of texts a row.
 */
export async function noteDatedAhead(client: PoolClient, lists: readonly (readonly DatedRow[])[]): Promise<void> {
  const ahead = lists.flatMap(datedAhead);
  if (ahead.length === 0) return;
  await client.query(NOTE, [ahead.map(({ id }) => id), ahead.map(({ localDay }) => localDay)]);
}

/** Those of some rows that count for a day later than the one after their ID's. */
function datedAhead(rows: readonly DatedRow[]): DatedRow[] {
  // Users in different zones have two local days at a time, in turn.
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
