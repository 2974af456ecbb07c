import type { Pool, PoolClient } from 'pg';

/** A user whose zone changed, with the new one (`''` for UTC). */
export interface MovedUser {
  tenantNo: number;
  userId: string;
  zone: string;
}

/** Whether there are changes of users' zones that were not processed yet, except for some tenants. */
export async function hasMovedUsers(pool: Pool, except: readonly number[]): Promise<boolean> {
  const { rows } = await pool.query<{ some: boolean }>(
    'SELECT EXISTS (SELECT FROM notification_moves WHERE tenant_no <> ALL ($1::int[])) AS some',
    [except],
  );
  return rows[0]!.some;
}

export async function movedUsers(pool: Pool, tenantNo: number, limit: number): Promise<MovedUser[]> {
  const { rows } = await pool.query<MovedUser>(
    `SELECT tenant_no AS "tenantNo", user_id AS "userId", zone
       FROM notification_moves JOIN users USING (tenant_no) WHERE users.id = user_id AND tenant_no = $1
      ORDER BY user_id LIMIT $2`,
    [tenantNo, limit],
  );
  return rows;
}

/** Marks changes of zones as processed. */
export async function forgetMoves(client: PoolClient, tenantNo: number, userIds: readonly string[]): Promise<void> {
  await client.query('DELETE FROM notification_moves WHERE tenant_no = $1 AND user_id = ANY ($2)', [tenantNo, userIds]);
}

/** Deletes the changes of zones of all tenants but some, and of deleted users. */
export async function forgetOtherMoves(pool: Pool, tenantNos: readonly number[]): Promise<void> {
  await pool.query(
    `DELETE FROM notification_moves AS move WHERE tenant_no <> ALL ($1::int[])
         OR NOT EXISTS (SELECT FROM users WHERE users.tenant_no = move.tenant_no AND users.id = move.user_id)`,
    [tenantNos],
  );
}
