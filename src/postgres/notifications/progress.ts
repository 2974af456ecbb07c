import type { Pool, PoolClient } from 'pg';
import { joined } from '../joined-query.ts';

/** Progress of a tenant's notifications of a kind that the clock causes, in a zone (`''`: UTC, or all zones). */
export interface NotificationProgress {
  tenantNo: number;
  kind: string;
  zone: string;
  /** All that were due by then are done (epoch ms). */
  doneMs: number;
  lastUser: string;
}

export const notificationProgress = joined(
  async (pool, kinds: readonly string[]) => {
    const { rows } = await pool.query<NotificationProgress>({
      name: 'notification_progress',
      text: `SELECT tenant_no AS "tenantNo", kind, zone, done_ms AS "doneMs", last_user AS "lastUser"
         FROM notification_progress WHERE kind = ANY ($1) ORDER BY 1, 2, 3`,
      values: [kinds],
    });
    return rows;
  },
  ({ kind }) => kind,
);

type Key = Pick<NotificationProgress, 'tenantNo' | 'kind' | 'zone'>;

const keys = (rows: readonly Key[]): unknown[] => [
  rows.map(({ tenantNo }) => tenantNo),
  rows.map(({ kind }) => kind),
  rows.map(({ zone }) => zone),
];

/** Starts creating the notifications that fall due after `doneMs`. Existing progress stays unchanged. */
export async function beginProgress(
  pool: Pool | PoolClient,
  rows: readonly (Key & { doneMs: number })[],
): Promise<void> {
  if (rows.length === 0) return;
  await pool.query(
    `INSERT INTO notification_progress (tenant_no, kind, zone, done_ms)
     SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::bigint[]) ON CONFLICT DO NOTHING`,
    [...keys(rows), rows.map(({ doneMs }) => doneMs)],
  );
}

/** Stops them. Notifications that fall due from now on are not created, not even later. */
export async function endProgress(pool: Pool | PoolClient, rows: readonly Key[]): Promise<void> {
  if (rows.length === 0) return;
  await pool.query(
    `DELETE FROM notification_progress AS progress
      USING unnest($1::int[], $2::text[], $3::text[]) AS ended (tenant_no, kind, zone)
      WHERE progress.tenant_no = ended.tenant_no AND progress.kind = ended.kind AND progress.zone = ended.zone`,
    keys(rows),
  );
}

/** Advances a progress if it has not changed since it was read; false if another process was faster. */
export async function moveNotificationProgress(
  client: PoolClient | Pool,
  { tenantNo, kind, zone, doneMs, lastUser }: NotificationProgress,
  next: Pick<NotificationProgress, 'doneMs' | 'lastUser'>,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `UPDATE notification_progress SET done_ms = $6, last_user = $7
      WHERE tenant_no = $1 AND kind = $2 AND zone = $3 AND done_ms = $4 AND last_user = $5`,
    [tenantNo, kind, zone, doneMs, lastUser, next.doneMs, next.lastUser],
  );
  return rowCount === 1;
}
