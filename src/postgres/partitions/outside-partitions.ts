import type { Pool } from 'pg';
import { PARTITIONED } from './event-partitions.ts';

const DEFAULTS = PARTITIONED.map((table) => `pg_relation_size('${table}_default')`).join(' + ');

/** How the partitions of events fare. */
export interface PartitionsState {
  /** The day (epoch day) for which there are none any more. */
  endDay: number;
  /** What is of days that had none when it was stored. */
  bytesOutside: number;
}

/** Reads it. */
export async function partitionsState(pool: Pool): Promise<PartitionsState> {
  const { rows } = await pool.query<PartitionsState>(
    `SELECT (SELECT max(end_day) FROM event_partitions) AS "endDay", (${DEFAULTS})::float8 AS "bytesOutside"`,
  );
  return rows[0]!;
}
