import type { Pool } from 'pg';
import type { Frequency } from '../../domain/periods.ts';
import { FREQUENCIES } from '../../domain/settle-streaks.ts';
import { SETTLEMENT_KINDS } from '../persist/insert-streak-changes.ts';

/** The longest streak of a user that was alive on or after a local day and was lost; the latest of equals; null: none. */
export async function longestLost(
  pool: Pool,
  { tenantNo, userId, frequency, since }: { tenantNo: number; userId: string; frequency: Frequency; since: number },
): Promise<{ length: number; from: number } | null> {
  const { rows } = await pool.query<{ length: number; from: number }>(
    `SELECT length, from_day AS "from" FROM streak_changes
      WHERE tenant_no = $1 AND user_id = $2 AND frequency = $3 AND to_day >= $4 AND kind = $5
      ORDER BY length DESC, to_day DESC LIMIT 1`,
    [tenantNo, userId, FREQUENCIES.indexOf(frequency) + 1, since, SETTLEMENT_KINDS.indexOf('lost') + 1],
  );
  return rows[0] ?? null;
}
