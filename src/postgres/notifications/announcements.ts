/** Announcements: tenants whose webhooks want a type, and boosts that were announced. */
import type { Pool, PoolClient } from 'pg';
import type { NotificationType } from '../../domain/notifications/notification.ts';
import { joined } from '../joined-query.ts';
import { storableText } from '../storable-json.ts';

/** A tenant and a type that one of its enabled webhooks receives. */
export interface WantingTenant {
  tenantNo: number;
  /** Version of the tenant's catalog when it was read. */
  version: number;
  type: NotificationType;
  /** Since when, at the latest: the last change of one of these webhooks (epoch ms). */
  sinceMs: number;
}

/** Tenants with an enabled webhook for some types, one row per type. Reads an index that contains only webhooks. */
export const wantingTenants = joined(
  async (pool, types: readonly NotificationType[]) => {
    const { rows } = await pool.query<WantingTenant>({
      name: 'wanting_tenants',
      text: `SELECT hook.tenant_no AS "tenantNo", tenants.catalog_version AS version, type, min(epoch_ms(hook.updated)) AS "sinceMs"
         FROM catalog_resources AS hook
         JOIN tenants ON tenants.no = hook.tenant_no AND tenants.status = 'active'
         JOIN organisation ON multi_tenancy = (hook.tenant_no > 0)
        CROSS JOIN LATERAL jsonb_array_elements_text(hook.doc -> 'events') AS type
        WHERE hook.kind = 'webhook' AND hook.deleted IS NULL AND hook.doc ->> 'enabled' = 'true' AND type = ANY ($1)
        GROUP BY 1, 2, 3 ORDER BY 1, 3`,
      values: [types],
    });
    return rows;
  },
  ({ type }) => type,
);

interface AnnouncedBoost {
  tenantNo: number;
  userId: string;
  boostNo: number;
  type: string;
}

/** Numbers of those boosts that were already announced with a type. */
export async function announcedBoosts(
  pool: Pool,
  { tenantNo, type }: Pick<AnnouncedBoost, 'tenantNo' | 'type'>,
  boostNos: readonly number[],
): Promise<number[]> {
  const { rows } = await pool.query<{ no: number }>(
    'SELECT boost_no AS no FROM notification_boosts WHERE tenant_no = $1 AND type = $2 AND boost_no = ANY ($3)',
    [tenantNo, type, boostNos],
  );
  return rows.map(({ no }) => no);
}

/** Records an announcement in the client's transaction; false if it was already made. */
export async function claimBoost(
  client: PoolClient,
  { tenantNo, userId, boostNo, type }: AnnouncedBoost,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `INSERT INTO notification_boosts (tenant_no, user_id, boost_no, type) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
    [tenantNo, storableText(userId), boostNo, type],
  );
  return rowCount === 1;
}
