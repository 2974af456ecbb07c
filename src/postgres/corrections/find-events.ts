import type { Pool } from 'pg';
import { firstIdAt, QUEUED_BEFORE_MS } from '../../domain/timeline-position.ts';
import { storableText } from '../storable-json.ts';

export interface EventsOfUser {
  tenantNo: number;
  userId: string;
  metricNos: readonly number[];
  fromMs: number;
  /** Exclusive. */
  toMs: number;
  most: number;
}

/** Parameters: tenant, user, metrics, from and to (epoch ms). */
const SENT = `e.tenant_no = $1 AND e.user_id = $2 AND e.metric_no = ANY ($3::int[]) AND e.reverses IS NULL
          AND e.at >= to_timestamp($4 / 1000.0) AND e.at < to_timestamp($5 / 1000.0)`;

/**
 * IDs (32 hex digits) of the events that a user sent in a period, oldest first, at most `most`. Excludes opposite and reversed events. Scans an index for
 * the days of each metric, and another for events that came days late (`events_late`).
 */
export async function findEvents(
  pool: Pool,
  { tenantNo, userId, metricNos, fromMs, toMs, most }: EventsOfUser,
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT replace(id::text, '-', '') AS id
       FROM (SELECT e.id FROM events e
              WHERE ${SENT}
                AND e.local_date BETWEEN (to_timestamp($4 / 1000.0) AT TIME ZONE 'UTC')::date - 1
                                     AND (to_timestamp($5 / 1000.0) AT TIME ZONE 'UTC')::date + 1
             UNION
             SELECT e.id FROM events e
              WHERE ${SENT}
                AND e.id >= $7::uuid
                AND e.at - TIMESTAMPTZ '2000-01-01 00:00:00+00'
                    >= (e.local_date - DATE '2000-01-01' + 2) * INTERVAL '1 day') AS sent
      WHERE NOT EXISTS (SELECT FROM reversals r WHERE r.root_id = sent.id AND r.in_force)
      ORDER BY id
      LIMIT $6`,
    [tenantNo, storableText(userId), metricNos, fromMs, toMs, most, firstIdAt(Math.max(fromMs - QUEUED_BEFORE_MS, 0))],
  );
  return rows.map(({ id }) => id);
}
