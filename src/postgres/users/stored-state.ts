import type { Pool, PoolClient } from 'pg';

/** A user's packed state as Postgres holds it; null for one whom it does not know. One index look-up. */
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
