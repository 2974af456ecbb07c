import type { Pool, PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

/** Packed states of some users of a tenant in Postgres, by ID. Omits users who are not stored. */
export async function storedStates(
  pool: Pool | PoolClient,
  tenantNo: number,
  userIds: readonly string[],
): Promise<Map<string, Buffer>> {
  if (userIds.length === 0) return new Map();
  const { rows } = await pool.query<{ id: string; state: Buffer }>(
    'SELECT id, state FROM users WHERE tenant_no = $1 AND id = ANY ($2)',
    [tenantNo, userIds.map(storableText)],
  );
  return new Map(rows.map(({ id, state }) => [id, state]));
}
