import type { Pool } from 'pg';

/** Whether a reversal is stored. `id`: 32 hex digits of the opposite event. */
export async function isReversalStored(pool: Pool, id: string): Promise<boolean> {
  const { rows } = await pool.query<{ stored: boolean }>(
    'SELECT EXISTS (SELECT FROM reversals WHERE id = $1) AS stored',
    [id],
  );
  return rows[0]!.stored;
}
