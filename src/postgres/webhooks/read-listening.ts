import type { Pool } from 'pg';
import type { Revisions } from '../revisions.ts';

/** Tenants with an enabled webhook, as of certain revisions of the catalogs and the organisation. */
export interface Listening {
  revisions: Revisions;
  /** Share of users in the control group, 0 to 1. */
  controlShare: number;
  /** Tenant number → version of the tenant's catalog. Excludes archived tenants. */
  tenants: ReadonlyMap<number, number>;
}

interface Row extends Revisions {
  controlShare: number;
  tenants: [no: number, version: number][];
}

/** Reads everything in one snapshot. */
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
