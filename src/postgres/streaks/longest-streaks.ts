import type { Pool } from 'pg';
import type { Frequency } from '../../domain/periods.ts';
import { FREQUENCIES, type SettlementKind } from '../../domain/settle-streaks.ts';
import { SETTLEMENT_KINDS } from '../persist/insert-streak-changes.ts';

/** Kinds in the order of the index `streak_changes_by_length`, whose condition contains their numbers. */
const ENDED = (['lost', 'replaced', 'reset'] as const satisfies SettlementKind[])
  .map((kind) => SETTLEMENT_KINDS.indexOf(kind) + 1)
  .join(', ');

interface Page {
  tenantNo: number;
  frequency: Frequency;
  limit: number;
}

/** A position in the order of current streaks. */
export interface StreakOrigin {
  id: string;
  origin: number;
}

/** Users with a current streak by its origin (`users.daily_origin`), lowest first, after a given position. */
export async function usersByStreakOrigin(
  pool: Pool,
  { tenantNo, frequency, limit, after }: Page & { after: StreakOrigin | null },
): Promise<StreakOrigin[]> {
  const column = `${frequency}_origin`;
  const { rows } = await pool.query<StreakOrigin>(
    `SELECT id, ${column} AS origin FROM users
      WHERE tenant_no = $1 AND ${column} IS NOT NULL ${after === null ? '' : `AND (${column}, id) > ($3, $4)`}
      ORDER BY ${column}, id LIMIT $2`,
    [tenantNo, limit, ...(after === null ? [] : [after.origin, after.id])],
  );
  return rows;
}

/** Ended streaks, longest first. A user may have several. */
export async function endedStreaks(
  pool: Pool,
  { tenantNo, frequency, limit, offset }: Page & { offset: number },
): Promise<{ userId: string; length: number }[]> {
  const { rows } = await pool.query<{ userId: string; length: number }>(
    `SELECT user_id AS "userId", length FROM streak_changes
      WHERE tenant_no = $1 AND frequency = $2 AND superseded_by IS NULL AND kind IN (${ENDED})
      ORDER BY length DESC, no OFFSET $3 LIMIT $4`,
    [tenantNo, FREQUENCIES.indexOf(frequency) + 1, offset, limit],
  );
  return rows;
}
