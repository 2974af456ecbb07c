import type { Pool } from 'pg';
import type { Revisions } from '../revisions.ts';

/** Which tenants have an enabled webhook, as of some revisions of the catalogs and the organisation. */
export interface Listening {
  revisions: Revisions;
  /** Share of the users, 0 to 1, who are in the control group. */
  controlShare: number;
  /** Tenant number → version of the tenant's catalog. Archived tenants have none. */
  tenants: ReadonlyMap<number, number>;
}

interface Row extends Revisions {
  controlShare: number;
  tenants: [no: number, version: number][];
}

/** In one snapshot. */
export async function readListening(pool: Pool): Promise<Listening> {
  const { rows } = await pool.query<Row>(
    `SELECT revision AS organisation, catalogs_revision AS catalogs, control_share AS "controlShare",
            coalesce((
              SELECT json_agg(json_build_array(no, catalog_version)) FROM tenants
               WHERE status = 'active' AND no IN (
                 SELECT tenant_no FROM catalog_resources
                  WHERE kind = 'webhook' AND deleted IS NULL AND (doc->>'enabled')::boolean)), '[]') AS tenants
       FROM organisation`,
  );
  const { organisation, catalogs, controlShare, tenants } = rows[0]!;
  return { revisions: { organisation, catalogs }, controlShare, tenants: new Map(tenants) };
}
