import type { Pool } from 'pg';

/** An active `time` trigger, and up to when its periods are paid. */
export interface OpenTrigger {
  tenantNo: number;
  no: number;
  /** Version of the tenant's catalog at the time of the read. */
  version: number;
  /** Epoch ms of its activation. */
  activatedMs: number;
  unit: 'hours' | 'days';
  interval: number;
  /** All periods that ended before this (epoch ms) are paid; `null` if unknown. */
  nextMs: number | null;
}

/** Active `time` triggers of all active tenants. Reads an index that contains only these. */
export async function openTriggers(pool: Pool): Promise<OpenTrigger[]> {
  const { rows } = await pool.query<OpenTrigger>(
    `SELECT resource.tenant_no AS "tenantNo", resource.no, tenants.catalog_version AS version,
            coalesce((doc->>'activated')::bigint, epoch_ms(resource.created)) AS "activatedMs",
            coalesce(doc->>'timeUnit', 'days') AS unit, coalesce((doc->>'timeInterval')::int, 1) AS interval,
            progress.next_ms AS "nextMs"
       FROM catalog_resources resource
       JOIN tenants ON tenants.no = resource.tenant_no AND tenants.status = 'active'
       JOIN organisation ON multi_tenancy = (resource.tenant_no > 0)
       LEFT JOIN time_trigger_progress progress
         ON progress.tenant_no = resource.tenant_no AND progress.trigger_no = resource.no
      WHERE kind = 'points_trigger' AND deleted IS NULL AND doc->>'type' = 'time' AND doc->>'status' = 'active'
      ORDER BY 1, 2`,
  );
  return rows;
}
