import type { Pool } from 'pg';

/** How far used idempotency keys are moved into the compact form. */
export interface AgeingProgress {
  /** The last epoch day on which all were gone through; −1: none. */
  doneDay: number;
  /** Cursor of SCAN on the day after. */
  cursor: string;
  /** Keys of events before this (epoch ms) may be in the compact form; the others are not. */
  beforeMs: number;
}

/** Reads it. */
export async function readAgeing(pool: Pool): Promise<AgeingProgress> {
  const { rows } = await pool.query<{ doneDay: number; cursor: string; beforeMs: string }>(
    'SELECT done_day AS "doneDay", scan_cursor AS cursor, before_ms AS "beforeMs" FROM key_ageing',
  );
  const { doneDay, cursor, beforeMs } = rows[0]!;
  return { doneDay, cursor, beforeMs: Number(beforeMs) };
}

/** Notes, before any key is moved, that those of events before a time may be. */
export async function raiseAgeing(pool: Pool, beforeMs: number): Promise<void> {
  await pool.query('UPDATE key_ageing SET before_ms = $1 WHERE before_ms < $1', [beforeMs]);
}

/** Notes how far it is. */
export async function moveAgeing(pool: Pool, { doneDay, cursor }: Omit<AgeingProgress, 'beforeMs'>): Promise<void> {
  await pool.query('UPDATE key_ageing SET done_day = $1, scan_cursor = $2', [doneDay, cursor]);
}
