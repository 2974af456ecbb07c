import type { Pool, PoolClient } from 'pg';

/** Some users of a tenant in the order of their IDs, after one, with their packed state as it is stored. */
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

/** How many users a tenant has. */
export async function countUsers(client: Pool | PoolClient, tenantNo: number): Promise<number> {
  const { rows } = await client.query<{ users: number }>(
    'SELECT count(*)::float8 AS users FROM users WHERE tenant_no = $1',
    [tenantNo],
  );
  return rows[0]!.users;
}
