import type { PoolClient } from 'pg';

/**
 * The IDs of about `percent` of a tenant's users, from pages of the table that are chosen at random: users who came one
 * after the other are chosen together. What is read is that share of all tenants' users.
 */
export async function sampleUsers(
  client: PoolClient,
  { tenantNo, percent }: { tenantNo: number; percent: number },
): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    'SELECT id FROM users TABLESAMPLE SYSTEM ($2) WHERE tenant_no = $1',
    [tenantNo, percent],
  );
  return rows.map(({ id }) => id);
}
