import type { Pool } from 'pg';
import { storableText } from '../storable-json.ts';

/** Time zones of some users of a tenant, by ID: an IANA name, `''` for UTC. Omits users who are not stored. */
export async function storedZones(
  pool: Pool,
  tenantNo: number,
  userIds: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ id: string; zone: string }>(
    'SELECT id, zone FROM users WHERE tenant_no = $1 AND id = ANY ($2)',
    [tenantNo, userIds.map(storableText)],
  );
  return new Map(rows.map(({ id, zone }) => [id, zone]));
}
