import type { Pool } from 'pg';
import { whole } from './event-partitions.ts';

/** The first ID of the UTC day before a row's local day. */
const FIRST_ID = `rpad(lpad(to_hex(greatest(local_date - DATE '1970-01-02', 0) * 86400000::bigint), 12, '0'), 32, '0')::uuid`;

const lastDay = (table: string): string =>
  `(SELECT max(local_date) - DATE '1970-01-01' FROM ${table} WHERE id < ${FIRST_ID})`;

/** The first partition whose rows are to be looked through by now; null: there is none. */
export async function nextLookThrough(pool: Pool): Promise<number | null> {
  const { rows } = await pool.query<{ firstDay: number }>(
    `SELECT first_day AS "firstDay" FROM event_partitions
      WHERE look_through_after <= now() AND NOT is_dropped ORDER BY first_day LIMIT 1`,
  );
  return rows[0]?.firstDay ?? null;
}

/**
 * Looks through the rows of a partition that an earlier version stored for those that count for a later day than their IDs say
 * (`noteDatedAhead`). Reads the partition once (a minute for 20 million events); nobody waits for it. Doing it again changes nothing.
 * @param firstDay of the partition
 */
export async function lookThrough(pool: Pool, firstDay: number): Promise<void> {
  const day = whole(firstDay);
  await pool.query(
    `UPDATE event_partitions
        SET look_through_after = NULL, ahead_to = greatest(ahead_to, ${lastDay(`events_d${day}`)}, ${lastDay(`awards_d${day}`)})
      WHERE first_day = ${day}`,
  );
}
