import type { Pool } from 'pg';

/** A user whose full years are to be counted. */
export interface DueUser {
  tenantNo: number;
  /** Version of the tenant's catalog when it was read. */
  version: number;
  userId: string;
  /** Epoch ms. */
  dueMs: number;
}

/**
 * The users whose years are to be counted up to a time (epoch ms), the earliest first, of tenants whose data does not rest.
 * One whose last state could not be stored waits until it is: what is read here is older. Reads an index.
 * @param except numbers of tenants to be left out
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
