import type { Pool } from 'pg';
import type { Days } from '../../domain/periods.ts';
import type { DayCounts } from './add-day-counts.ts';

interface Row {
  day: number;
  events: string;
  activeUsers: string;
  newUsers: string;
  pointsAwarded: string;
  completions: string;
}

const READ = `
  SELECT day, events, active_users AS "activeUsers", new_users AS "newUsers", points_awarded AS "pointsAwarded", completions
    FROM tenant_days WHERE tenant_no = $1 AND day BETWEEN $2 AND $3`;

/** A tenant's activity on some UTC days, by epoch day. Days without activity are missing. */
export async function readDays(
  pool: Pool,
  { tenantNo, fromDay, toDay }: Days & { tenantNo: number },
): Promise<Map<number, DayCounts>> {
  const { rows } = await pool.query<Row>(READ, [tenantNo, fromDay, toDay]);
  return new Map(
    rows.map(({ day, events, activeUsers, newUsers, pointsAwarded, completions }) => [
      day,
      {
        events: Number(events),
        activeUsers: Number(activeUsers),
        newUsers: Number(newUsers),
        pointsAwarded: Number(pointsAwarded),
        completions: Number(completions),
      },
    ]),
  );
}
