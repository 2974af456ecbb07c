import type { Pool } from 'pg';

/** The present version of the catalog of each of these tenants. */
export async function catalogVersions(pool: Pool, tenantNos: number[]): Promise<Map<number, number>> {
  const { rows } = await pool.query<{ no: number; version: number }>(
    'SELECT no, catalog_version AS version FROM tenants WHERE no = ANY($1::integer[])',
    [tenantNos],
  );
  return new Map(rows.map(({ no, version }) => [no, version]));
}
