import type { Pool } from 'pg';
import { transaction } from '../transaction.ts';

/** A zone of a tenant, with how far its days are swept. */
export interface SweptZone {
  tenantNo: number;
  /** '' is UTC. */
  zone: string;
  /** Last local day (epoch day) whose beginning is swept. */
  sweptDay: number;
  /** Users with an ID up to this one are done for the day after. */
  lastUser: string;
  /** The tenant's catalog is at least at this version. */
  version: number;
}

/**
 * The zones of active tenants that are least far, a row a zone: its name and the last day that is swept in all.
 * @param except zones of tenants to be left out: `<tenant no>:<zone>`
 */
export async function leastSwept(pool: Pool, except: readonly string[]): Promise<{ zone: string; sweptDay: number }[]> {
  const { rows } = await pool.query<{ zone: string; sweptDay: number }>(
    `SELECT zone, min(swept_day) AS "sweptDay" FROM streak_zones
       JOIN tenants ON no = tenant_no AND status = 'active'
      WHERE tenant_no || ':' || zone <> ALL ($1) GROUP BY zone`,
    [except],
  );
  return rows;
}

/** How far the zones of some tenants are swept. */
export async function zonesOf(
  pool: Pool,
  tenantNos: readonly number[],
): Promise<{ tenantNo: number; zone: string; sweptDay: number }[]> {
  const { rows } = await pool.query<{ tenantNo: number; zone: string; sweptDay: number }>(
    `SELECT tenant_no AS "tenantNo", zone, swept_day AS "sweptDay" FROM streak_zones WHERE tenant_no = ANY ($1)`,
    [tenantNos],
  );
  return rows;
}

/** The tenants' zones of a name that are swept up to a day and not further. */
export async function zonesAt(pool: Pool, zone: string, sweptDay: number): Promise<SweptZone[]> {
  const { rows } = await pool.query<SweptZone>(
    `SELECT tenant_no AS "tenantNo", zone, swept_day AS "sweptDay", last_user AS "lastUser", catalog_version AS version
       FROM streak_zones JOIN tenants ON no = tenant_no AND status = 'active'
      WHERE zone = $1 AND swept_day = $2 ORDER BY tenant_no`,
    [zone, sweptDay],
  );
  return rows;
}

/** Notes how far a zone is, if it is still where it was seen; false: another sweep was faster. */
export async function noteSwept(
  pool: Pool,
  { tenantNo, zone, sweptDay, lastUser }: SweptZone,
  next: { sweptDay: number; lastUser: string },
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `UPDATE streak_zones SET swept_day = $5, last_user = $6
      WHERE tenant_no = $1 AND zone = $2 AND swept_day = $3 AND last_user = $4`,
    [tenantNo, zone, sweptDay, lastUser, next.sweptDay, next.lastUser],
  );
  return rowCount === 1;
}

/**
 * Removes a zone of a tenant that no user is in; false: a user is. The outbox cursor of the tenant's shard is
 * held meanwhile: every writer of users holds it too, and notes their zones before it lets go. So a user who comes with the
 * zone is either seen here, or finds it gone and brings it back. A persister that finds the cursor taken gives up: the
 * caller wakes another.
 */
export function dropUnusedZone(
  pool: Pool,
  { tenantNo, zone, shard }: { tenantNo: number; zone: string; shard: number },
): Promise<boolean> {
  return transaction(pool, async (client) => {
    await client.query('SELECT FROM outbox_cursors WHERE shard = $1 FOR UPDATE', [shard]);
    // A statement of its own: it sees all that was committed before the cursor was ours.
    const { rowCount } = await client.query(
      `DELETE FROM streak_zones WHERE tenant_no = $1 AND zone = $2
          AND NOT EXISTS (SELECT FROM users WHERE tenant_no = $1 AND zone = $2)`,
      [tenantNo, zone],
    );
    return rowCount === 1;
  });
}
