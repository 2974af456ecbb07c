import type { Pool } from 'pg';

/** Progress of moving used idempotency keys into the compact form. */
export interface AgeingProgress {
  /** The last epoch day that is complete; −1 for none. */
  doneDay: number;
  /** Cursor of SCAN for the next day. */
  cursor: string;
  /** Keys of events before this time (epoch ms) may be in the compact form; later ones are not. */
  beforeMs: number;
}

export async function readAgeing(pool: Pool): Promise<AgeingProgress> {
  const { rows } = await pool.query<{ doneDay: number; cursor: string; beforeMs: string }>(
    'SELECT done_day AS "doneDay", scan_cursor AS cursor, before_ms AS "beforeMs" FROM key_ageing',
  );
  const { doneDay, cursor, beforeMs } = rows[0]!;
  return { doneDay, cursor, beforeMs: Number(beforeMs) };
}

/** Records, before any key is moved, that keys of events before a time may be in the compact form. */
export async function raiseAgeing(pool: Pool, beforeMs: number): Promise<void> {
  await pool.query('UPDATE key_ageing SET before_ms = $1 WHERE before_ms < $1', [beforeMs]);
}

export async function moveAgeing(pool: Pool, { doneDay, cursor }: Omit<AgeingProgress, 'beforeMs'>): Promise<void> {
  await pool.query('UPDATE key_ageing SET done_day = $1, scan_cursor = $2', [doneDay, cursor]);
}
