import type { PoolClient } from 'pg';

/** The tables from which earlier days are counted. */
export type BackfillSource = 'events' | 'awards' | 'completions' | 'users';

/** How far a table is counted. */
export interface Backfill {
  source: BackfillSource;
  /** Days from this one on (epoch day) and rows before that time count. */
  firstDay: number;
  before: Date;
  /** '' at the beginning; else what the source's own slices say. */
  position: string;
}

/** The next table that is not counted to its end, locked for the transaction; null: there is none, or another process has it. */
export async function lockBackfill(client: PoolClient): Promise<Backfill | null> {
  const { rows } = await client.query<Backfill>(
    `SELECT source, first_day AS "firstDay", before, position FROM activity_backfills
      WHERE NOT is_done ORDER BY source LIMIT 1 FOR UPDATE SKIP LOCKED`,
  );
  return rows[0] ?? null;
}

/** Notes how far a table is counted; null: to its end. */
export async function moveBackfill(client: PoolClient, source: BackfillSource, position: string | null): Promise<void> {
  await client.query(
    `UPDATE activity_backfills SET position = coalesce($2, position), is_done = $2 IS NULL WHERE source = $1`,
    [source, position],
  );
}
