import type { Pool } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';

export interface UserPage {
  /** Those who may have something to settle, by ID. */
  ids: string[];
  /** How many were looked at. */
  seen: number;
  /** The last ID that was looked at; '' at the end. */
  lastUser: string;
  /** The first day on which one of the others may have something to settle; null: none ever does. */
  nextDay: number | null;
}

/**
 * Looks at some users of a zone after one, in the order of their IDs: who may have something to settle when a local day
 * begins. `earning`: as `lua/lib/streaks.lua`, null where nothing is earned. Who has nothing is not read beyond the
 * row: a million users of whom none is due were scanned in 2.4 s (2 busy cores).
 */
export async function dueUsers(
  pool: Pool,
  {
    tenantNo,
    zone,
    after,
    day,
    earning,
    limit,
  }: {
    tenantNo: number;
    zone: string;
    after: string;
    day: number;
    earning: readonly [number, number, number, number] | null;
    limit: number;
  },
): Promise<UserPage> {
  // Of a user who has not earned yet it counts from the local day, which may be the one before UTC's. One who earned before the
  // settings changed may be looked at too early.
  const sinceDay = earning === null ? null : Math.floor(earning[3] / DAY_MS) - 1;
  const { rows } = await pool.query<{ ids: string[]; seen: number; last: string; nextDay: number | null }>(
    `SELECT coalesce(array_agg(id ORDER BY id) FILTER (WHERE due <= $4), '{}') AS ids, count(*)::int AS seen,
            coalesce(max(id), '') AS last, min(due) FILTER (WHERE due > $4) AS "nextDay"
       FROM (SELECT id, least(due_day, CASE WHEN $5::int IS NOT NULL AND freezes < $6::int
                                            THEN coalesce(earned_day, $7::int) + $5::int END) AS due
               FROM users WHERE tenant_no = $1 AND zone = $2 AND id > $3 ORDER BY id LIMIT $8) AS page`,
    [tenantNo, zone, after, day, earning?.[0] ?? null, earning?.[2] ?? null, sinceDay, limit],
  );
  const { ids, seen, last, nextDay } = rows[0]!;
  return { ids, seen, lastUser: seen < limit ? '' : last, nextDay };
}
