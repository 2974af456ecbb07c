import type { Pool, PoolClient } from 'pg';

/** IDs of the resources of a tenant that are the demo's: a first start made them, and nobody has changed them or pushed a document since. */
export async function demoResources(client: Pool | PoolClient, tenantNo: number): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ id: string }>(
    'SELECT id FROM catalog_resources WHERE tenant_no = $1 AND demo AND deleted IS NULL',
    [tenantNo],
  );
  return new Set(rows.map(({ id }) => id));
}

/** From now on none of a tenant's resources is the demo's. Idempotent. */
export async function endDemo(client: PoolClient, tenantNo: number): Promise<void> {
  await client.query('UPDATE catalog_resources SET demo = false WHERE tenant_no = $1 AND demo', [tenantNo]);
}
