import type { PoolClient } from 'pg';

/** What happened in a tenant on a UTC day. */
export interface DayCounts {
  events: number;
  /** Users who sent an event. */
  activeUsers: number;
  newUsers: number;
  /** Of all points systems together; what was taken away is not subtracted. */
  pointsAwarded: number;
  completions: number;
}

export interface DayCountsRow extends DayCounts {
  tenantNo: number;
  /** Epoch day. */
  day: number;
}

/** Adds up with what the days hold already. */
export const ADD_UP = `
  ON CONFLICT (tenant_no, day) DO UPDATE
    SET events = tenant_days.events + EXCLUDED.events,
        active_users = tenant_days.active_users + EXCLUDED.active_users,
        new_users = tenant_days.new_users + EXCLUDED.new_users,
        points_awarded = tenant_days.points_awarded + EXCLUDED.points_awarded,
        completions = tenant_days.completions + EXCLUDED.completions`;

// Whoever adds to several rows does so in the order of their keys: two that wait for each other would never end.
const ADD = `
  INSERT INTO tenant_days (tenant_no, day, events, active_users, new_users, points_awarded, completions)
  SELECT * FROM unnest($1::int[], $2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::numeric[], $7::bigint[]) AS counted (tenant_no, day)
  ORDER BY tenant_no, day ${ADD_UP}`;

/** Adds counts, each row named once, in the client's transaction. Not idempotent. */
export async function addDayCounts(client: PoolClient, rows: readonly DayCountsRow[]): Promise<void> {
  if (rows.length === 0) return;
  await client.query({
    name: 'persist_day_counts',
    text: ADD,
    values: [
      rows.map(({ tenantNo }) => tenantNo),
      rows.map(({ day }) => day),
      rows.map(({ events }) => events),
      rows.map(({ activeUsers }) => activeUsers),
      rows.map(({ newUsers }) => newUsers),
      rows.map(({ pointsAwarded }) => pointsAwarded),
      rows.map(({ completions }) => completions),
    ],
  });
}
