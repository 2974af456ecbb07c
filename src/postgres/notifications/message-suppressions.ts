/** Addresses that get no e-mails, because a mail server refused them for good. They are stored in lower case. */
import type { Pool, PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

export interface SuppressionRow {
  address: string;
  userId: string;
  reason: string;
  at: Date;
}

/** Suppresses an address, unless it already is. */
export async function suppressAddress(
  pool: Pool,
  { tenantNo, address, userId, reason, nowMs }: Omit<SuppressionRow, 'at'> & { tenantNo: number; nowMs: number },
): Promise<void> {
  await pool.query(
    `INSERT INTO message_suppressions (tenant_no, address, user_id, reason, at)
     VALUES ($1, $2, $3, $4, to_timestamp($5::float8 / 1000)) ON CONFLICT DO NOTHING`,
    [tenantNo, address.toLowerCase(), storableText(userId), storableText(reason), nowMs],
  );
}

export async function isSuppressed(pool: Pool, tenantNo: number, address: string): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT FROM message_suppressions WHERE tenant_no = $1 AND address = $2', [
    tenantNo,
    address.toLowerCase(),
  ]);
  return rowCount === 1;
}

/** A page of a tenant's suppressed addresses, in alphabetical order. `after`: the last address of the previous page. */
export async function listSuppressions(
  pool: Pool,
  tenantNo: number,
  limit: number,
  after: string | null,
): Promise<SuppressionRow[]> {
  const { rows } = await pool.query<SuppressionRow>(
    `SELECT address, user_id AS "userId", reason, at FROM message_suppressions
      WHERE tenant_no = $1 AND ($3::text IS NULL OR address > $3) ORDER BY address LIMIT $2`,
    [tenantNo, limit, after],
  );
  return rows;
}

/** Removes an address from the list and returns the user to whom it belonged; `null` if it was not suppressed. */
export async function deleteSuppression(client: PoolClient, tenantNo: number, address: string): Promise<string | null> {
  const { rows } = await client.query<{ userId: string }>(
    'DELETE FROM message_suppressions WHERE tenant_no = $1 AND address = $2 RETURNING user_id AS "userId"',
    [tenantNo, address.toLowerCase()],
  );
  return rows[0]?.userId ?? null;
}
