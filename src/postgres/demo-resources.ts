import type { Pool, PoolClient } from 'pg';

/** IDs of a tenant's demo resources: those that the first start created, unless somebody has changed them or applied a document since. */
export async function demoResources(client: Pool | PoolClient, tenantNo: number): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ id: string }>(
    'SELECT id FROM catalog_resources WHERE tenant_no = $1 AND demo AND deleted IS NULL',
    [tenantNo],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Makes all of a tenant's resources the tenant's own. Idempotent. */
export async function endDemo(client: PoolClient, tenantNo: number): Promise<void> {
  await client.query('UPDATE catalog_resources SET demo = false WHERE tenant_no = $1 AND demo', [tenantNo]);
}
