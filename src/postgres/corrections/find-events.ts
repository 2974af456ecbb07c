import type { Pool } from 'pg';

export interface EventsOfUser {
  tenantNo: number;
  userId: string;
  metricNos: readonly number[];
  fromMs: number;
  /** Not included. */
  toMs: number;
  most: number;
}

/**
 * IDs (32 hex digits) of a user's events of a time, oldest first, at most `most`; without opposite events and those that are
 * reversed already. An index scan of the days a metric.
 */
export async function findEvents(
  pool: Pool,
  { tenantNo, userId, metricNos, fromMs, toMs, most }: EventsOfUser,
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT replace(id::text, '-', '') AS id
       FROM events e
      WHERE tenant_no = $1 AND user_id = $2 AND metric_no = ANY ($3::int[])
        AND local_date BETWEEN (to_timestamp($4 / 1000.0) AT TIME ZONE 'UTC')::date - 1
                           AND (to_timestamp($5 / 1000.0) AT TIME ZONE 'UTC')::date + 1
        AND at >= to_timestamp($4 / 1000.0) AND at < to_timestamp($5 / 1000.0)
        AND reverses IS NULL
        AND NOT EXISTS (SELECT FROM reversals r WHERE r.root_id = e.id AND r.in_force)
      ORDER BY id
      LIMIT $6`,
    [tenantNo, userId, metricNos, fromMs, toMs, most],
  );
  return rows.map(({ id }) => id);
}
