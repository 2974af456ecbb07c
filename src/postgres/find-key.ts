import type { Pool } from 'pg';

/** What is stored of a key of either kind. */
export interface KeyRecord {
  id: string;
  kind: 'admin' | 'application';
  prefix: string;
  /** SHA-256 of the body. */
  hash: Buffer;
  /** The one user of an application key. */
  userId: string | null;
  /** The tenant an application key was made under. */
  tenantNo: number | null;
  active: boolean;
}

/** The key with this prefix, of either kind; null: there is none. */
export async function findKey(pool: Pool, prefix: string): Promise<KeyRecord | null> {
  const { rows } = await pool.query<KeyRecord>({
    name: 'find-key',
    text: `SELECT id, 'admin' AS kind, prefix, hash, NULL AS "userId", NULL::integer AS "tenantNo", status = 'active' AS active
             FROM admin_keys WHERE prefix = $1
           UNION ALL
           SELECT id, 'application', prefix, hash, user_id, tenant_no, true
             FROM application_keys WHERE prefix = $1`,
    values: [prefix],
  });
  return rows[0] ?? null;
}
