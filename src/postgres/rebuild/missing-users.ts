import type { Pool } from 'pg';

interface NamedUser {
  tenantNo: number;
  id: string;
}

/** Those of some users who are not stored. */
export async function missingUsers(pool: Pool, users: readonly NamedUser[]): Promise<NamedUser[]> {
  if (users.length === 0) return [];
  const { rows } = await pool.query<NamedUser>(
    `SELECT tenant_no AS "tenantNo", id FROM unnest($1::int[], $2::text[]) AS named (tenant_no, id)
      WHERE NOT EXISTS (SELECT FROM users WHERE users.tenant_no = named.tenant_no AND users.id = named.id)`,
    [users.map(({ tenantNo }) => tenantNo), users.map(({ id }) => id)],
  );
  return rows;
}
