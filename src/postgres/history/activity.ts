import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import type { Days } from '../../domain/periods.ts';

interface DayCounts {
  events: number;
  activeUsers: number;
  newUsers: number;
  completions: number;
}

export interface DayCountsRow extends DayCounts {
  tenantNo: number;
  day: number;
}

/** SQL: adds to the existing values of the days. */
const ADD_UP = `
  ON CONFLICT (tenant_no, day) DO UPDATE
    SET events = tenant_days.events + EXCLUDED.events,
        active_users = tenant_days.active_users + EXCLUDED.active_users,
        new_users = tenant_days.new_users + EXCLUDED.new_users,
        completions = tenant_days.completions + EXCLUDED.completions`;

const COUNTED = columns<DayCountsRow>({
  tenantNo: 'int',
  day: 'int',
  events: 'bigint',
  activeUsers: 'bigint',
  newUsers: 'bigint',
  completions: 'bigint',
});

// All writers update rows in the order of their keys, which prevents deadlocks.
const ADD = `
  INSERT INTO tenant_days (tenant_no, day, events, active_users, new_users, completions)
  SELECT * FROM ${COUNTED.unnest('counted')} ORDER BY tenant_no, day ${ADD_UP}`;

/** Adds counts in the client's transaction; each row may occur once. Not idempotent. */
export async function addDayCounts(client: PoolClient, rows: readonly DayCountsRow[]): Promise<void> {
  if (rows.length > 0) await client.query({ name: 'persist_day_counts', text: ADD, values: COUNTED.arrays(rows) });
}

interface Row {
  day: number;
  events: string;
  activeUsers: string;
  newUsers: string;
  completions: string;
}

const READ = `
  SELECT day, events, active_users AS "activeUsers", new_users AS "newUsers", completions
    FROM tenant_days WHERE tenant_no = $1 AND day BETWEEN $2 AND $3`;

/** A tenant's activity on some UTC days, by epoch day. Days without activity are missing. */
export async function readDays(
  pool: Pool,
  { tenantNo, fromDay, toDay }: Days & { tenantNo: number },
): Promise<Map<number, DayCounts>> {
  const { rows } = await pool.query<Row>(READ, [tenantNo, fromDay, toDay]);
  return new Map(
    rows.map(({ day, events, activeUsers, newUsers, completions }) => [
      day,
      {
        events: Number(events),
        activeUsers: Number(activeUsers),
        newUsers: Number(newUsers),
        completions: Number(completions),
      },
    ]),
  );
}
