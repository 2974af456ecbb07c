import type { Pool } from 'pg';
import type { Frequency } from '../../domain/periods.ts';
import { FREQUENCIES, type Settlement } from '../../domain/settle-streaks.ts';
import { SETTLEMENT_KINDS } from '../persist/insert-streak-changes.ts';

/** Changes of a user's streaks in a frequency that extend beyond a local day, oldest first. */
export async function streakChangesSince(
  pool: Pool,
  { tenantNo, userId, frequency, fromDay }: { tenantNo: number; userId: string; frequency: Frequency; fromDay: number },
): Promise<Settlement[]> {
  const { rows } = await pool.query<Omit<Required<Settlement>, 'frequency' | 'kind'> & { kind: number }>(
    `SELECT kind, from_day AS "from", to_day AS "to", length, (extract(epoch FROM at) * 1000)::float8 AS "atMs" FROM streak_changes
      WHERE tenant_no = $1 AND user_id = $2 AND frequency = $3 AND to_day >= $4 AND superseded_by IS NULL ORDER BY no`,
    [tenantNo, userId, FREQUENCIES.indexOf(frequency) + 1, fromDay],
  );
  return rows.map(({ kind, ...row }) => ({ ...row, frequency, kind: SETTLEMENT_KINDS[kind - 1]! }));
}
