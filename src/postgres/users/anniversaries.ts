import type { Pool } from 'pg';

export interface DueUser {
  tenantNo: number;
  /** Version of the tenant's catalog at the time of the read. */
  version: number;
  userId: string;
  dueMs: number;
}

/**
 * Users whose years must be counted up to a time (epoch ms), earliest first, except those of archived tenants. A user whose
 * last state could not be stored is skipped until it is, because the row is outdated. Reads an index.
 * @param except numbers of tenants to skip
 */
export async function dueUsers(
  pool: Pool,
  { upToMs, except, limit }: { upToMs: number; except: readonly number[]; limit: number },
): Promise<DueUser[]> {
  const { rows } = await pool.query<DueUser>(
    `SELECT users.tenant_no AS "tenantNo", tenants.catalog_version AS version, users.id AS "userId",
            anniversary_ms AS "dueMs"
       FROM users
       JOIN tenants ON tenants.no = users.tenant_no AND tenants.status = 'active'
       JOIN organisation ON multi_tenancy = (users.tenant_no > 0)
      WHERE anniversary_ms <= $1 AND owed_position IS NULL AND users.tenant_no <> ALL ($2::int[])
      ORDER BY anniversary_ms, users.tenant_no, users.id LIMIT $3`,
    [upToMs, except, limit],
  );
  return rows;
}
