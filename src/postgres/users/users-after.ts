import type { Pool, PoolClient } from 'pg';

/** The next users of a tenant after an ID, in the order of IDs, with their stored packed states. */
export async function usersAfter(
  client: Pool | PoolClient,
  { tenantNo, after, limit }: { tenantNo: number; after: string; limit: number },
): Promise<{ id: string; state: Buffer }[]> {
  const { rows } = await client.query<{ id: string; state: Buffer }>(
    'SELECT id, state FROM users WHERE tenant_no = $1 AND id > $2 ORDER BY id LIMIT $3',
    [tenantNo, after, limit],
  );
  return rows;
}

export async function countUsers(client: Pool | PoolClient, tenantNo: number): Promise<number> {
  const { rows } = await client.query<{ users: number }>(
    'SELECT count(*)::float8 AS users FROM users WHERE tenant_no = $1',
    [tenantNo],
  );
  return rows[0]!.users;
}
