import type { Pool } from 'pg';
import { usedKeyOf, usedKeysWhere, type UsedKey, type UsedKeyRow } from './read-idempotency-keys.ts';

const SELECT = `
  SELECT used.* FROM unnest($1::uuid[], $2::uuid[]) AS span (first, last)
   CROSS JOIN LATERAL (${usedKeysWhere('id BETWEEN span.first AND span.last')}) AS used`;

/**
 * The idempotency keys of the events that have one of some times (epoch ms) in their IDs; a time must not come twice, and some keys
 * may.
 */
export async function usedKeysAt(pool: Pool, idTimesMs: readonly number[]): Promise<UsedKey[]> {
  if (idTimesMs.length === 0) return [];
  const heads = idTimesMs.map((ms) => ms.toString(16).padStart(12, '0'));
  const spans = ['0', 'f'].map((digit) => heads.map((head) => head.padEnd(32, digit)));
  const { rows } = await pool.query<UsedKeyRow>(SELECT, spans);
  return rows.map(usedKeyOf);
}
