import type { Pool } from 'pg';
import type { Frequency } from '../../domain/periods.ts';
import { FREQUENCIES } from '../../domain/settle-streaks.ts';
import { SETTLEMENT_KINDS } from '../persist/insert-streak-changes.ts';

const ENDED = (['lost', 'reset'] as const).map((kind) => SETTLEMENT_KINDS.indexOf(kind) + 1);

/**
 * First and last day of the user's longest streak that was alive on or after a local day and was lost or reset; the latest of equals. `null` if there
 * is none.
 */
export async function longestLost(
  pool: Pool,
  { tenantNo, userId, frequency, since }: { tenantNo: number; userId: string; frequency: Frequency; since: number },
): Promise<{ length: number; from: number; to: number } | null> {
  const { rows } = await pool.query<{ length: number; from: number; to: number }>(
    `SELECT length, from_day AS "from", to_day AS "to" FROM streak_changes
      WHERE tenant_no = $1 AND user_id = $2 AND frequency = $3 AND to_day >= $4 AND superseded_by IS NULL AND kind = ANY ($5)
      ORDER BY length DESC, to_day DESC LIMIT 1`,
    [tenantNo, userId, FREQUENCIES.indexOf(frequency) + 1, since, ENDED],
  );
  return rows[0] ?? null;
}
