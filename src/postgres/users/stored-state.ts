import type { Pool, PoolClient } from 'pg';

/** A user's packed state in Postgres; `null` if the user is not stored. One index lookup. */
export async function storedState(
  pool: Pool | PoolClient,
  { tenantNo, userId }: { tenantNo: number; userId: string },
): Promise<Buffer | null> {
  const { rows } = await pool.query<{ state: Buffer }>('SELECT state FROM users WHERE tenant_no = $1 AND id = $2', [
    tenantNo,
    userId,
  ]);
  return rows[0]?.state ?? null;
}
