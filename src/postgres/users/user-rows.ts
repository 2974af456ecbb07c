import type { Pool } from 'pg';
import { storableText } from '../storable-json.ts';
import type { UserTable } from './user-tables.ts';

/** Rows per read. */
const PAGE = 1000;

/** A user's rows in a table, page by page. Keeps at most one page in memory, and no connection between pages. */
export async function* userRows(
  pool: Pool,
  { table, user, order }: UserTable,
  { tenantNo, userId }: { tenantNo: number; userId: string },
): AsyncGenerator<Record<string, unknown>[]> {
  const columns = order.join(', ');
  const after = order.map((_, index) => `$${index + 3}`).join(', ');
  let last: unknown[] | null = null;
  for (;;) {
    const { rows }: { rows: Record<string, unknown>[] } = await pool.query(
      `SELECT * FROM ${table} WHERE tenant_no = $1 AND ${user} = $2 ${last === null ? '' : `AND (${columns}) > (${after})`}
        ORDER BY ${columns} LIMIT ${PAGE}`,
      [tenantNo, storableText(userId), ...(last ?? [])],
    );
    if (rows.length > 0) yield rows;
    const end = rows.at(-1);
    if (end === undefined || rows.length < PAGE) return;
    last = order.map((column) => end[column]);
  }
}

/** Names of a tenant's resources by number: key, name or type. Includes deleted ones. */
export async function resourceNames(pool: Pool, tenantNo: number): Promise<Map<number, string>> {
  const { rows } = await pool.query<{ no: number; name: string | null }>(
    `SELECT no, coalesce(doc ->> 'key', doc ->> 'name', doc ->> 'type') AS name FROM catalog_resources WHERE tenant_no = $1`,
    [tenantNo],
  );
  return new Map(rows.map(({ no, name }) => [no, name ?? String(no)]));
}
