import type { Pool } from 'pg';
import type { NotificationType } from '../../domain/notification.ts';

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
export async function wantingTenants(pool: Pool, types: readonly NotificationType[]): Promise<WantingTenant[]> {
  const { rows } = await pool.query<WantingTenant>(
    `SELECT hook.tenant_no AS "tenantNo", tenants.catalog_version AS version, type, min(epoch_ms(hook.updated)) AS "sinceMs"
       FROM catalog_resources AS hook
       JOIN tenants ON tenants.no = hook.tenant_no AND tenants.status = 'active'
       JOIN organisation ON multi_tenancy = (hook.tenant_no > 0)
      CROSS JOIN LATERAL jsonb_array_elements_text(hook.doc -> 'events') AS type
      WHERE hook.kind = 'webhook' AND hook.deleted IS NULL AND hook.doc ->> 'enabled' = 'true' AND type = ANY ($1)
      GROUP BY 1, 2, 3 ORDER BY 1, 3`,
    [types],
  );
  return rows;
}
