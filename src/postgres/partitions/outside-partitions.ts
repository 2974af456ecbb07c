import type { Pool } from 'pg';
import { PARTITIONED } from './event-partitions.ts';

const DEFAULTS = PARTITIONED.map((table) => `pg_relation_size('${table}_default')`).join(' + ');

export interface PartitionsState {
  /** The first day (epoch day) without partitions. */
  endDay: number;
  /** Size of rows whose days had no partition when they were stored. */
  bytesOutside: number;
}

export async function partitionsState(pool: Pool): Promise<PartitionsState> {
  const { rows } = await pool.query<PartitionsState>(
    `SELECT (SELECT max(end_day) FROM event_partitions) AS "endDay", (${DEFAULTS})::float8 AS "bytesOutside"`,
  );
  return rows[0]!;
}
