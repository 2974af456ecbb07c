import type { PoolClient } from 'pg';

/**
 * IDs of about `percent` of a tenant's users, from randomly chosen pages of the table, so users created one after another are chosen together. Reads
 * that share of all tenants' users.
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
